from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agentic_rl.config.agent_variables import SANDBOX, SEARCH, SEARCH_TOPK, agent_variables
from agentic_rl.config.load import Loaded, load

DEFAULTS: dict[str, Any] = {"sandbox": "full", "search": None, "search_topk": 3}


def test_defaults_are_handed_over() -> None:
    assert agent_variables(DEFAULTS, (), {}) == {SANDBOX: "full", SEARCH_TOPK: "3"}


def test_the_environment_wins_over_what_is_not_written_and_loses_to_what_is() -> None:
    environ = {SANDBOX: "weak", SEARCH: "/mine.jsonl", SEARCH_TOPK: "7"}
    assert agent_variables(DEFAULTS, (), environ) == environ
    values = {"sandbox": "full", "search": "http://here", "search_topk": 2}
    assert agent_variables(values, values, environ) == {SANDBOX: "full", SEARCH: "http://here", SEARCH_TOPK: "2"}


def read(tmp_path: Path, **environ: str) -> Loaded:
    tree = {
        "tokenizer_name_or_path": "/model",
        "agent_name": "search_r1",
        "train_backend": "local",
        "local": {"train_files": "/t.parquet", "val_files": "/v.parquet"},
        "search": str(tmp_path / "documents.jsonl"),
    }
    return load(tree, environ=environ)


def test_a_file_that_is_searched_is_a_secure_path(tmp_path: Path) -> None:
    tmp_path.chmod(0o750)
    file = tmp_path / "documents.jsonl"
    file.touch()
    file.chmod(0o644)
    (found,) = [one for one in read(tmp_path).report if one.key == "search"]
    assert found.code == "ARL306"
    file.chmod(0o640)
    assert read(tmp_path).checked["search"].path == str(file)


def test_an_address_is_none(tmp_path: Path) -> None:
    loaded = read(tmp_path, AGENTIC_RL__SEARCH="HTTPS://retriever.example:8000/retrieve")
    assert loaded.values["search"] == "HTTPS://retriever.example:8000/retrieve"
    assert not [one for one in loaded.report if one.key == "search"]
    assert "search" not in loaded.checked


@pytest.mark.parametrize("address", ["http://", "https:///retrieve", "http://a b"])
def test_an_address_needs_a_host(tmp_path: Path, address: str) -> None:
    (found,) = [one for one in read(tmp_path, AGENTIC_RL__SEARCH=address).report if one.key == "search"]
    assert found.severity == "error"
    assert "it must be the secure path of a file, or an address" in found.message


def test_the_agents_own_variables_are_no_misspelled_keys(tmp_path: Path) -> None:
    found = read(tmp_path, AGENTIC_RL_SANDBOX="weak", AGENTIC_RL_SEARCH_TOPK="2", AGENTIC_RL_SEED="1").report
    assert [one.key for one in found if "sets nothing" in one.message] == ["seed"]
