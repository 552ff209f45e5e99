from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from agentic_rl.backends.agent_environment import set_for_agents, variables_of, words_about_sandbox
from agentic_rl.backends.local.trainer import LocalTrainer
from agentic_rl.config.load import Loaded


@pytest.fixture(autouse=True)
def _none_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AGENTIC_RL_SANDBOX", "AGENTIC_RL_SEARCH", "AGENTIC_RL_SEARCH_TOPK"):
        monkeypatch.delenv(name, raising=False)


def test_agents_have_them_while_the_run_lasts(loaded: Callable[..., Loaded], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTIC_RL_SEARCH_TOPK", "9")
    given = loaded(sandbox="weak", search="http://127.0.0.1:8000", search_topk=2)
    with set_for_agents(given):
        assert os.environ["AGENTIC_RL_SANDBOX"] == "weak"
        assert os.environ["AGENTIC_RL_SEARCH"] == "http://127.0.0.1:8000"
        assert os.environ["AGENTIC_RL_SEARCH_TOPK"] == "2"
    assert "AGENTIC_RL_SANDBOX" not in os.environ
    assert "AGENTIC_RL_SEARCH" not in os.environ
    assert os.environ["AGENTIC_RL_SEARCH_TOPK"] == "9"


def test_a_key_written_with_its_default_wins_over_the_environment(loaded: Callable[..., Loaded]) -> None:
    environ = {"AGENTIC_RL_SANDBOX": "weak"}
    assert variables_of(loaded(sandbox="full"), environ)["AGENTIC_RL_SANDBOX"] == "full"
    assert variables_of(loaded(), environ)["AGENTIC_RL_SANDBOX"] == "weak"


def test_what_is_said_of_the_sandbox() -> None:
    assert words_about_sandbox({"AGENTIC_RL_SANDBOX": "weak"}).startswith("sandbox: weak")
    assert words_about_sandbox({"AGENTIC_RL_SANDBOX": "full"}) == ""


@pytest.mark.parametrize("sandbox", ["weak", "full"])
def test_the_log_of_the_run_tells_a_weak_sandbox(
    sandbox: str,
    loaded: Callable[..., Loaded],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    with LocalTrainer(loaded(sandbox=sandbox))._session():
        assert os.environ["AGENTIC_RL_SANDBOX"] == sandbox
    said = capsys.readouterr()
    assert ("sandbox: weak" in said.out + said.err) == (sandbox == "weak")
