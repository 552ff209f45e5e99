"""Which files are checked, how often, and where findings point."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentic_rl.config.diagnostics import Place
from agentic_rl.config.flat import Validated, check_files, files

Check = Callable[..., Validated]


def nowhere(key: str) -> Place | None:
    return None


@pytest.fixture
def parquet(tmp_path: Path) -> str:
    path = tmp_path.resolve() / "train.parquet"
    path.write_bytes(b"")
    path.chmod(0o640)
    return str(path)


def values(backend: str, **changes: Any) -> dict[str, Any]:
    return {"train_backend": backend, **{key.replace("__", "."): value for key, value in changes.items()}}


def test_path_that_two_keys_name_is_checked_once(parquet: str, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    original = files.check_path
    monkeypatch.setattr(files, "check_path", lambda value, key, kind: calls.append(key) or original(value, key, kind))
    result = check_files(values("verl", verl__train_files=parquet, verl__val_files=parquet), nowhere)
    assert calls == ["verl.train_files"]
    assert result.findings == []
    assert result.checked["verl.train_files"] == result.checked["verl.val_files"]


def test_files_of_another_section_are_not_touched(parquet: str) -> None:
    changes = {"verl__train_files": "/nowhere", "mindspeed_rl__data_path": "/nowhere", "local__train_files": parquet}
    result = check_files(values("local", **changes), nowhere)
    assert result.findings == []
    assert list(result.checked) == ["local.train_files"]


def test_only_shared_files_are_looked_at_while_the_backend_is_unknown() -> None:
    broken = {"tokenizer_name_or_path": "/nowhere", "verl.train_files": "/nowhere"}
    assert [one.key for one in check_files(broken, nowhere).findings] == ["tokenizer_name_or_path"]


def test_findings_stand_where_the_key_does() -> None:
    where = {"verl": Place("config.yaml", 7, 1), "verl.val_files": Place("config.yaml", 9, 3)}
    result = check_files(values("verl", verl__train_files="/nowhere", verl__val_files="/nowhere/else"), where.get)
    assert [(one.key, one.line, one.column) for one in result.findings] == [
        ("verl.train_files", 7, 1),
        ("verl.val_files", 9, 3),
    ]


def test_prefix_stands_for_its_files(tmp_path: Path) -> None:
    root = tmp_path.resolve()
    for name, mode in (("packed.bin", 0o640), ("packed.idx", 0o644)):
        (root / name).touch()
        (root / name).chmod(mode)
    (finding,) = check_files(values("mindspeed_rl", mindspeed_rl__data_path=f"{root}/packed"), nowhere).findings
    assert "packed.idx" in finding.message
    (missing,) = check_files(values("mindspeed_rl", mindspeed_rl__data_path=f"{root}/other"), nowhere).findings
    assert missing.code == "ARL300"


def test_agent_file_is_read_once_its_path_is_sound(tmp_path: Path) -> None:
    path = tmp_path.resolve() / "agent.py"
    path.write_text("x = 1\n")
    path.chmod(0o644)
    where = {"agent_engine_wrapper_path": Place("config.yaml", 3, 1)}
    told = check_files(values("verl", agent_engine_wrapper_path=str(path)), where.get)
    assert [one.code for one in told.findings] == ["ARL306"]
    path.chmod(0o640)
    (finding,) = check_files(values("verl", agent_engine_wrapper_path=str(path)), where.get).findings
    assert finding.code.startswith("ARL41")
    assert (finding.key, finding.file) == ("agent_engine_wrapper_path", str(path))
