"""Which agents need no file of their own."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Callable
from typing import Any

import pytest

from agentic_rl.agents import agent_names, find_agent
from agentic_rl.agents.builtin.search_r1 import NoSearchError
from agentic_rl.config import agent_names as config_names
from agentic_rl.config.flat import BUILTIN_AGENTS, Validated

Check = Callable[..., Validated]


def missing(result: Validated) -> list[str]:
    return [one.key for one in result.findings if one.code == "ARL027"]


def test_built_in_names_are_those_of_the_agents(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AGENTIC_RL_SEARCH", raising=False)
    assert set(BUILTIN_AGENTS) <= set(agent_names())
    assert all(find_agent(name) for name in BUILTIN_AGENTS if name != "search_r1")
    with pytest.raises(NoSearchError, match="AGENTIC_RL_SEARCH"):  # it is known, and not told where to search
        find_agent("search_r1")


def test_unknown_agent_needs_a_file(check: Check) -> None:
    assert missing(check("verl", agent_name="mine")) == ["agent_engine_wrapper_path"]
    assert missing(check("verl", agent_name="mine", agent_engine_wrapper_path="/agent.py")) == []


def test_registered_agent_needs_no_file(check: Check, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config_names, "REGISTERED_AGENTS", {"mine"})
    assert missing(check("verl", agent_name="mine")) == []


def test_installed_agent_needs_no_file(check: Check, monkeypatch: pytest.MonkeyPatch) -> None:
    def entry_points(**wanted: Any) -> list[str]:
        return ["installed"] if wanted == {"group": "agentic_rl.agents", "name": "mine"} else []

    monkeypatch.setattr(importlib.metadata, "entry_points", entry_points)
    assert missing(check("verl", agent_name="mine")) == []
    assert missing(check("verl", agent_name="other")) == ["agent_engine_wrapper_path"]
