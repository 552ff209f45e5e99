"""Programs of the machine that print what a test wants."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

Program = Callable[[str, str], None]


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Program:
    """Put a shell script of a name first on the path; nothing else is on it."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))

    def make(name: str, body: str) -> None:
        (folder / name).write_text(f"#!/bin/sh\n{body}\n")
        (folder / name).chmod(0o755)

    return make
