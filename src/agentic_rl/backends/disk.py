"""A disk that refuses: told as an expected failure with a remedy, never as a traceback."""

from __future__ import annotations

import contextlib
import errno
import os
import re
from collections.abc import Iterator
from pathlib import Path

from agentic_rl.backends.errors import SaveError, TrainingError

FULL = {errno.ENOSPC, errno.EDQUOT}
"""What the system says when there is no room left, on the disk or for this user."""
OF_RUST = re.compile(r"\(os error (\d+)\)")
"""How safetensors tells the system's number, in the text alone."""
DISK_ERRORS = {
    errno.EACCES,
    errno.EDQUOT,
    errno.EFBIG,
    errno.EIO,
    errno.ENOSPC,
    errno.ENOTDIR,
    errno.EEXIST,
    errno.EPERM,
    errno.EROFS,
}
"""What the system says when a folder can't be written or read."""


@contextlib.contextmanager
def disk_errors(path: Path) -> Iterator[None]:
    """Tell of a folder that can't be written or read as of any other expected failure, without a traceback."""
    try:
        yield
    except TrainingError:
        raise
    except OSError as error:
        if error.errno not in DISK_ERRORS:
            raise
        raise SaveError(
            f"{error.filename or path} can't be {_undone(error)}: {error.strerror}",
            f"{remedy(error)}; the same command then goes on",
        ) from error


def _undone(error: OSError) -> str:
    """What the system refused to do; it doesn't say so itself where either could be meant."""
    if error.errno == errno.EIO:
        return "read or written"
    refused = error.filename is not None and os.path.lexists(error.filename) and not os.access(error.filename, os.R_OK)
    return "read" if refused else "written"


def remedy(error: OSError) -> str:
    """What to do about a checkpoint or folder that can't be written or read."""
    number = error.errno
    if number is None and (told := OF_RUST.search(str(error))):
        number = int(told[1])
    if number in FULL:
        return "make room (each checkpoint has about three times the size of the model)"
    if number == errno.EFBIG:
        return "raise the limit of a file's size (`ulimit -f`)"
    return "check the folder's owner and mode"
