"""The path policy: absolute, no links, folders 750, files 640, owned by the current user.

`check_path(value, key, kind)` returns a `PathCheck`: findings without a place, and a `CheckedPath` when none of them is
an error. Whoever loads a configuration keeps those by dotted key (`Loaded.checked: dict[str, CheckedPath]`), so that
training opens exactly what was checked: `loaded.checked["local.train_files"].open()`.
"""

from agentic_rl.config.secure_paths.check import Kind, PathCheck, check_path, check_prefix, prefix_files
from agentic_rl.config.secure_paths.fix import Fix, fix_permissions
from agentic_rl.config.secure_paths.opening import CheckedPath, PathChangedError
from agentic_rl.config.secure_paths.value import check_value

__all__ = [
    "CheckedPath",
    "Fix",
    "Kind",
    "PathChangedError",
    "PathCheck",
    "check_path",
    "check_prefix",
    "check_value",
    "fix_permissions",
    "prefix_files",
]
