from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from agentic_rl.backends.disk import disk_errors
from agentic_rl.backends.errors import SaveError


@pytest.mark.parametrize(
    ("number", "remedy"), [(errno.ENOSPC, "make room"), (errno.EDQUOT, "make room"), (errno.EACCES, "check the folder")]
)
def test_only_a_full_disk_asks_for_room(number: int, remedy: str) -> None:
    with pytest.raises(SaveError, match="x can't be written") as caught, disk_errors(Path("/x")):
        raise OSError(number, "no", "/no/such/x")
    assert caught.value.hint.startswith(remedy)


def test_what_cannot_be_read_is_told_as_such(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.R_OK)
    with pytest.raises(SaveError, match="can't be read: Permission"), disk_errors(tmp_path):
        raise PermissionError(errno.EACCES, "Permission denied", str(tmp_path))


def test_other_failures_pass_through() -> None:
    with pytest.raises(FileNotFoundError), disk_errors(Path("/")):
        raise FileNotFoundError(errno.ENOENT, "no such file")
