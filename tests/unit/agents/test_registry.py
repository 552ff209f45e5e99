from __future__ import annotations

from importlib.metadata import EntryPoint

import pytest

from agentic_rl.agents import (
    Agent,
    ChatModel,
    DuplicateAgentError,
    Task,
    UnknownAgentError,
    find_agent,
    register_agent,
    registry,
)
from agentic_rl.agents.builtin.math import MathAgent


class One(Agent):
    async def run(self, task: Task, model: ChatModel) -> float:
        return 1.0


class Two(One):
    pass


def make_two() -> Two:
    return Two()


@pytest.fixture(autouse=True)
def _forget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_registered", dict(registry._registered))
    monkeypatch.setattr(registry, "REGISTERED_AGENTS", set())


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> list[EntryPoint]:
    """Entry points that are installed as far as the registry can see."""
    points: list[EntryPoint] = []

    def entry_points(*, group: str, name: str | None = None) -> list[EntryPoint]:
        return [point for point in points if point.group == group and name in (None, point.name)]

    monkeypatch.setattr(registry, "entry_points", entry_points)
    return points


def test_the_built_in_agent() -> None:
    assert isinstance(find_agent("math"), MathAgent)


def test_classes_instances_and_functions_can_be_registered() -> None:
    assert register_agent("as_class")(One) is One
    instance = One()
    register_agent("as_instance", instance)
    register_agent("as_function", make_two)
    assert isinstance(find_agent("as_class"), One)
    assert find_agent("as_instance") is instance
    assert isinstance(find_agent("as_function"), Two)
    assert registry.agent_names() == ["as_class", "as_function", "as_instance", "math"]


def test_an_unknown_name_says_which_is_near() -> None:
    with pytest.raises(UnknownAgentError, match=r"no agent is called 'maht'; did you mean 'math'\? Known: math\."):
        find_agent("maht")


def test_two_agents_of_one_name_are_refused_with_both_places() -> None:
    register_agent("mine")(One)
    register_agent("mine")(One)  # the same one again, as when its module is read twice
    with pytest.raises(DuplicateAgentError, match=r"'mine': .*One \(.*test_registry.py:\d+\) and .*Two \(.*\); rename"):
        register_agent("mine")(Two)
    with pytest.raises(DuplicateAgentError, match=r"builtin.math:MathAgent and .*One"):
        register_agent("math", One)


def test_entry_points_are_found(installed: list[EntryPoint]) -> None:
    installed.append(EntryPoint("packaged", "agentic_rl.agents.builtin.math:MathAgent", registry.GROUP))
    assert isinstance(find_agent("packaged"), MathAgent)
    assert "packaged" in registry.agent_names()


def test_an_entry_point_with_the_name_of_another_agent_is_refused(installed: list[EntryPoint]) -> None:
    installed.append(EntryPoint("math", "somewhere:Agent", registry.GROUP))
    with pytest.raises(DuplicateAgentError, match=r"MathAgent and somewhere:Agent of the package"):
        find_agent("math")


def test_what_is_not_an_agent_is_refused() -> None:
    register_agent("odd", lambda: 3)  # type: ignore[arg-type,return-value]
    with pytest.raises(TypeError, match=r"agent 'odd' .* is a int, not an Agent"):
        find_agent("odd")
