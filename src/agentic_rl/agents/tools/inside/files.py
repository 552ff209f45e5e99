"""Which files of the machine the policy's code may read: Python, its packages, and the system's programs."""

from __future__ import annotations

import sys
from pathlib import Path

DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store")
_SETTINGS = ("/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/alternatives", "/etc/localtime")
_PREFIX_PARTS = ("bin", "lib", "lib64", "pyvenv.cfg")
_PACKAGE_FOLDERS = ("site-packages", "dist-packages")


def readable() -> list[str]:
    """Return the folders and files, none of them below another.

    Of an environment only its parts are among them: its folder may be the one of a project, or the user's home.
    """
    prefixes = {sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix}
    wanted = [*_SYSTEM, *_SETTINGS, *(f"{prefix}/{part}" for prefix in prefixes for part in _PREFIX_PARTS)]
    wanted += [path for path in sys.path if Path(path).name in _PACKAGE_FOLDERS]
    there = {Path(path) for path in wanted if Path(path).exists()}
    return sorted(str(path) for path in there if not any(other in path.parents for other in there))


def devices() -> list[str]:
    """Return the devices that may be read and written."""
    return [device for device in DEVICES if Path(device).exists()]
