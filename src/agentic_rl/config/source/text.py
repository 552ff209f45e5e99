"""The bytes of a configuration file, and the text in them. Never blocks and never reads more than a configuration."""

from __future__ import annotations

import codecs
import os
import re
import stat
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, NamedTuple

LIMIT = 1024 * 1024
"""Bytes. A configuration above this is refused without being parsed."""

LINE_BREAK = re.compile("\r\n|[\n\r\x85]|\u2028|\u2029")
"""What YAML counts as the end of a line."""

_NOT_ASCII_TEXT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_NOT_TEXT = "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff\ufeff\ufffe\uffff]"
_OTHER_BOMS = (  # UTF-32 first: its little-endian mark begins with that of UTF-16
    (codecs.BOM_UTF32_LE, "UTF-32"),
    (codecs.BOM_UTF32_BE, "UTF-32"),
    (codecs.BOM_UTF16_LE, "UTF-16"),
    (codecs.BOM_UTF16_BE, "UTF-16"),
)
_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)
UNREADABLE, TOO_LARGE, NOT_TEXT = "ARL001", "ARL002", "ARL003"


Opener = Callable[[], BinaryIO]


class UnreadableError(Exception):
    """The file or its text can't be read: code, message, hint and, in the text, line and column from 1."""

    def __init__(self, code: str, message: str, hint: str, line: int | None = None, column: int | None = None) -> None:
        super().__init__(code, message, hint, line, column)
        self.code, self.message, self.hint, self.line, self.column = code, message, hint, line, column


class Position(NamedTuple):
    """Line and column, both from 1."""

    line: int
    column: int


def read_bytes(path: str, opener: Opener | None = None) -> bytes:
    """The content of a regular file of at most `LIMIT` bytes.

    Raises:
        UnreadableError: missing, not a regular file, not readable, or too large.
    """
    if not path:
        raise UnreadableError(UNREADABLE, "no file is named", "give the path of a YAML file")
    try:
        with opener() if opener else _open(path) as file:
            status = os.fstat(file.fileno())
            _refuse_other_kinds(path, status)
            content = file.read(LIMIT + 1) if status.st_size <= LIMIT else None
    except OSError as error:
        raise _unreadable(path, error) from None
    except ValueError:  # a NUL or a lone surrogate in the path itself
        raise UnreadableError(UNREADABLE, f"{path!r} can't be the name of a file", "check the path") from None
    if content is None or len(content) > LIMIT:
        raise too_large(max(status.st_size, LIMIT + 1))
    return content


def too_large(size: int) -> UnreadableError:
    """The refusal of a text of `size` bytes."""
    return UnreadableError(
        TOO_LARGE,
        f"{size} bytes; a configuration has at most {LIMIT} (1 MiB), so it was not read",
        "check the path: this looks like data, not a configuration",
    )


def decode(content: bytes | str) -> str:
    """The text, without a byte order mark.

    Raises:
        UnreadableError: not UTF-8, or characters that no YAML text may hold.
    """
    text = _utf8(content) if isinstance(content, bytes) else content
    text = text.removeprefix("\ufeff")
    unfit = _NOT_ASCII_TEXT if text.isascii() else re.compile(_NOT_TEXT)  # the latter takes milliseconds to compile
    found = unfit.search(text)
    if found is None:
        return text
    more = len(unfit.findall(text)) - 1
    message = f"the character U+{ord(found[0]):04X} may not stand in a YAML text"
    message += f" ({more} more of such characters)" if more else ""
    raise UnreadableError(NOT_TEXT, message, "remove it", *position(text, found.start()))


def position(text: str, index: int) -> Position:
    """Where the character at `index` stands."""
    line, start = 1, 0
    for end in LINE_BREAK.finditer(text, 0, index):
        line, start = line + 1, end.end()
    return Position(line, index - start + 1)


def _open(path: str) -> BinaryIO:
    _refuse_other_kinds(path, Path(path).stat())  # before opening: to open a device can have effects of its own
    # O_NONBLOCK: a pipe that has taken the file's place since must not make us wait for a writer.
    return os.fdopen(os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)), "rb")


def _refuse_other_kinds(path: str, status: os.stat_result) -> None:
    if stat.S_ISREG(status.st_mode):
        return
    kind = next((name for test, name in _KINDS if test(status.st_mode)), "not a regular file")
    hint = "give the path of a YAML file"
    inside = _configurations_in(Path(path)) if kind == "a folder" else []
    if inside:
        hint += f", e.g. {inside[0]}"
    raise UnreadableError(UNREADABLE, f"{path} is {kind}, not a file", hint)


def _configurations_in(folder: Path) -> list[Path]:
    try:
        files = sorted(path for path in folder.glob("[!.]*") if path.suffix in (".yaml", ".yml"))
    except OSError:
        return []
    return sorted(files, key=lambda path: path.stem != "config")


def _unreadable(path: str, error: OSError) -> UnreadableError:
    if isinstance(error, FileNotFoundError) and Path(path).is_symlink():
        message = f"{path} is a broken symbolic link to {Path(path).readlink()}"
        return UnreadableError(UNREADABLE, message, "give the path of the real file")
    if isinstance(error, FileNotFoundError):
        return UnreadableError(UNREADABLE, f"there is no file {path}", _missing_hint(path))
    reason = error.strerror.lower() if error.strerror else str(error)
    hint = "chmod 640 the file, 750 its folders" if isinstance(error, PermissionError) else "check the path"
    return UnreadableError(UNREADABLE, f"{path} can't be read: {reason}", hint)


def _missing_hint(path: str) -> str:
    present = _configurations_in(Path(path).parent)
    nearest = next((other for other in present if other.stem == Path(path).stem), None)
    return f"check the path; there is {nearest}" if nearest else "check the path, and the folder it is relative to"


def _utf8(content: bytes) -> str:
    for mark, name in _OTHER_BOMS:
        if content.startswith(mark):
            raise UnreadableError(NOT_TEXT, f"the text is {name}; a configuration is UTF-8", "save it as UTF-8", 1, 1)
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        before = content[: error.start].decode("utf-8").removeprefix("\ufeff")
        message = f"the byte 0x{content[error.start]:02x} is not UTF-8; a configuration is UTF-8"
        hint = "save it as UTF-8, or convert it: iconv -f GB18030 -t UTF-8 (or -f LATIN1)"
        raise UnreadableError(NOT_TEXT, message, hint, *position(before, len(before))) from None
