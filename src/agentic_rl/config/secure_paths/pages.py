"""The numbered pages of the path policy (what `agentic-rl explain ARL3xx` prints)."""

from __future__ import annotations

from agentic_rl.config.diagnostics import Finding
from agentic_rl.config.rules import Page, describe

_FIX = (
    "\n\n`agentic-rl check FILE --fix-permissions` sets both modes below the paths that the file names. It never "
    "follows a link, never leaves the named trees and changes only what you own."
)

MISSING = describe(
    "ARL300",
    "Path does not exist",
    "error",
    "Every path of a configuration must exist when it is checked; folders to save into are not made for you. The "
    "message names the first part of the path that is missing.",
)
NOT_ABSOLUTE = describe(
    "ARL301",
    "Path is not absolute",
    "error",
    "A relative path means something else in every working folder, and the workers of a training job run in folders "
    "of their own. Write the absolute path that the hint shows. Addresses such as `hdfs://` are not paths: copy the "
    "data to a local file system first.",
)
UNEXPANDED = describe(
    "ARL302",
    "`~` or `$NAME` is left in the path",
    "error",
    "`~` and `$NAME` are the shell's to expand; nothing that reads a YAML file does it, and some backends would take "
    "`${...}` for a reference of their own. Write the expanded path that the hint shows.",
)
LINK = describe(
    "ARL303",
    "Path is or holds a symbolic link",
    "error",
    "Who can change a link can change what is trained on after it was checked, so neither the path nor anything below "
    "it may be one. Name the real path; where the links are inside a folder (a Hugging Face cache keeps its snapshots "
    "that way), copy it with `cp -rL` and name the copy.",
)
PARENT_LINK = describe(
    "ARL304",
    "A folder above the path is a symbolic link",
    "warning",
    "The path works, but it leads through a link, and follows it elsewhere when the link changes. The hint shows the "
    "path without links.",
)
FOLDER_MODE = describe(
    "ARL305",
    "Folder mode is not 750",
    "error",
    "The named folder and every folder below it must have mode exactly 750: the owner writes, the group reads, nobody "
    "else looks in. Models and data of others must not be readable, or writable, by everyone." + _FIX,
)
FILE_MODE = describe(
    "ARL306",
    "File mode is not 640",
    "error",
    "The named file, or every file below the named folder, must have mode exactly 640: the owner writes, the group "
    "reads, nobody else. The execute bit is not wanted either." + _FIX,
)
OWNER = describe(
    "ARL307",
    "Owner is not the current user",
    "error",
    "What is trained on must belong to the user who trains: another owner can change it, its modes included. Copy it, "
    "have root change the owner, or run as the owner.",
)
KIND = describe(
    "ARL308",
    "Neither file nor folder, or the wrong one of the two",
    "error",
    "A key that wants a file gets no folder and the other way round; pipes, sockets and devices are never accepted, "
    "because reading one can block or have effects.",
)
UNREADABLE = describe(
    "ARL309",
    "Path can't be read",
    "error",
    "The system refused to look at the path or at something below it; what can't be looked at can't be checked. For a "
    "folder that belongs to you the modes are the usual cause.",
)
NOT_A_PATH = describe(
    "ARL310",
    "Value can't be a path",
    "error",
    "An empty text, a NUL character, or characters that no file name can hold.",
)
TOO_LONG = describe(
    "ARL311",
    "Path is too long",
    "error",
    "A path has at most 1024 characters, and file systems allow at most 255 bytes between two slashes (a Chinese "
    "character has three).",
)
UNSTEADY = describe(
    "ARL312",
    "Something changed while it was checked",
    "error",
    "A file or folder vanished, or became another one, between being listed and being looked at. Let the program that "
    "writes there finish, then check again.",
)
CHANGED = describe(
    "ARL313",
    "Path changed after it was checked",
    "error",
    "A path is checked once. When it is opened, device, inode, owner and mode must still be those that were checked, "
    "and a link is refused; otherwise somebody could swap the file after the check. Check again, then start again.",
)
TOO_LARGE = describe(
    "ARL314",
    "Folder is too large or too deep to check",
    "error",
    "The check looks at no more than 1,000,000 files and folders and goes down 100 levels; a path that holds more is "
    "most likely one folder too high. Name the folder that you mean.",
)


def finding(page: Page, key: str, message: str, hint: str = "") -> Finding:
    """A finding of `page` without a place; the reader of the configuration knows where `key` stands."""
    return Finding(page.code, page.severity, key, message, hint)
