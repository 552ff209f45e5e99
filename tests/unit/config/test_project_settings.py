from __future__ import annotations

import os
from pathlib import Path

import pytest

from agentic_rl.config.project_settings import ProjectSettings
from agentic_rl.config.selection import Choice

KNOWN = ("ARL101", "ARL211")


def written(folder: Path, text: str | bytes) -> Path:
    path = folder / "pyproject.toml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_the_nearest_file_with_the_table_decides(tmp_path: Path) -> None:
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    written(tmp_path, '[tool.agentic-rl]\nignore = ["ARL2"]\nseverity = {ARL1 = "warning"}\n')
    written(tmp_path / "a", "[tool.other]\n")
    chosen = ProjectSettings(lambda: KNOWN).of(str(inner / "c.yaml"))
    assert chosen.choice == Choice(ignore=("ARL2",), severity={"ARL1": "warning"})
    assert chosen.findings == ()


def test_a_relative_file_is_looked_for_from_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written(tmp_path, '[tool.agentic-rl]\nselect = ["ARL211"]\n')
    monkeypatch.chdir(tmp_path)
    assert ProjectSettings(lambda: KNOWN).of("-").choice.select == ("ARL211",)


@pytest.mark.parametrize(
    ("table", "key", "message"),
    [
        ('ignroe = ["ARL2"]', "ignroe", "no such setting"),
        ('ignore = "ARL2"', "ignore", "must be a list"),
        ('ignore = ["ARL9"]', "ignore", "ARL9"),
        ('severity = {ARL2 = "info"}', "severity.ARL2", "'info' is no severity"),
        ('severity = {X1 = "note"}', "severity.X1", "'X1' is no code"),
        ("severity = 1", "severity", "must be a table"),
    ],
)
def test_what_can_not_be_read_is_a_finding(tmp_path: Path, table: str, key: str, message: str) -> None:
    path = written(tmp_path, f"[tool.agentic-rl]\n{table}\n")
    chosen = ProjectSettings(lambda: KNOWN).of(str(tmp_path / "c.yaml"))
    (finding,) = chosen.findings
    assert (finding.code, finding.key, finding.file) == ("ARL019", f"tool.agentic-rl.{key}", str(path))
    assert message in finding.message
    assert chosen.choice == Choice()


@pytest.mark.parametrize("text", ["[tool.agentic-rl\n", b"# agentic-rl \xff\n", '[tool]\nagentic-rl = "x"\n'])
def test_a_broken_table_is_a_finding(tmp_path: Path, text: str | bytes) -> None:
    written(tmp_path, text)
    (finding,) = ProjectSettings(lambda: KNOWN).of(str(tmp_path / "c.yaml")).findings
    assert finding.severity == "error"


def test_files_of_others_are_passed_over(tmp_path: Path) -> None:
    inner = tmp_path / "a"
    inner.mkdir()
    os.mkfifo(inner / "pyproject.toml")
    written(tmp_path, "not = [TOML\n")
    assert ProjectSettings(lambda: KNOWN).of(str(inner / "c.yaml")).findings == ()
