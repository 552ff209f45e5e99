from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from agentic_rl.agents import (
    Agent,
    AgentFileError,
    BaseEngineWrapper,
    ChatModel,
    DuplicateAgentError,
    NotAnAgentError,
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
    assert registry.agent_names() == ["as_class", "as_function", "as_instance", "gym", "math", "search_r1"]


def test_an_unknown_name_says_which_is_near() -> None:
    with pytest.raises(
        UnknownAgentError, match=r"no agent is called 'maht'; did you mean 'math'\? Known: gym, math, search_r1\."
    ):
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


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A package `shop_of_tests` that can be imported, with a module `agents`."""
    folder = tmp_path / "shop_of_tests"
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "agents.py").write_text(
        "from agentic_rl import Agent, BaseEngineWrapper, ToolAgent\n"
        "from shop_of_tests import prices\n\n"
        "class Shopper(ToolAgent):\n    pass\n\n"
        "class Wrapper(BaseEngineWrapper):\n    pass\n\n"
        "ready = ToolAgent(max_turns=prices.TURNS)\n\n"
        "def make():\n    return Shopper()\n\n"
        "number = 3\n"
    )
    (folder / "prices.py").write_text("TURNS = 2\n")
    (folder / "broken.py").write_text("\n\nopen('/no/such/file')\n")
    (folder / "greedy.py").write_text(
        "from agentic_rl import ToolAgent\n\nclass Greedy(ToolAgent):\n    def __init__(self, url):\n        pass\n"
    )
    (folder / "needy.py").write_text("import no_such_module_here\n")
    monkeypatch.syspath_prepend(tmp_path)
    yield folder
    for name in [name for name in sys.modules if name.startswith("shop_of_tests")]:
        del sys.modules[name]


def test_an_agent_is_found_by_its_place(package: Path) -> None:
    assert type(find_agent("shop_of_tests.agents:Shopper")).__name__ == "Shopper"
    assert type(find_agent("shop_of_tests.agents:make")).__name__ == "Shopper"
    assert find_agent("shop_of_tests.agents:ready").max_turns == 2  # type: ignore[union-attr]
    wrapper = find_agent("shop_of_tests.agents:Wrapper")
    assert isinstance(wrapper, type)
    assert issubclass(wrapper, BaseEngineWrapper)


@pytest.mark.parametrize(
    ("place", "kind", "said"),
    [
        ("no_shop_of_tests:Agent", UnknownAgentError, "there is no module no_shop_of_tests; install it, or put"),
        ("shop_of_tests.agent:Agent", UnknownAgentError, "there is no module shop_of_tests.agent;"),
        ("shop_of_tests.agents:Shoper", UnknownAgentError, "has no 'Shoper'; did you mean 'Shopper'"),
        ("shop_of_tests.greedy:Greedy", AgentFileError, r"greedy.py:4: agent .* can't be made: TypeError"),
        ("shop_of_tests.agents:number", NotAnAgentError, "is a int, not an Agent"),
        ("shop_of_tests.broken:A", AgentFileError, r"broken.py:3: FileNotFoundError"),
        ("shop_of_tests.needy:A", AgentFileError, r"needy.py:1: ModuleNotFoundError: No module named 'no_such_mod"),
    ],
)
def test_a_place_without_an_agent_says_what_is_wrong(
    package: Path, place: str, kind: type[Exception], said: str
) -> None:
    with pytest.raises(kind, match=said):
        find_agent(place)


def test_wrappers_can_be_registered() -> None:
    register_agent("wrapped")(BaseEngineWrapper)
    assert find_agent("wrapped") is BaseEngineWrapper


def test_two_packages_with_one_name_are_refused_with_both_places(installed: list[EntryPoint]) -> None:
    installed += [EntryPoint("mine", f"{module}:Agent", registry.GROUP) for module in ("one", "two")]
    with pytest.raises(DuplicateAgentError, match=r"'mine': one:Agent of the package .* and two:Agent of the package"):
        find_agent("mine")


def test_an_entry_point_that_leads_nowhere_names_its_package(installed: list[EntryPoint]) -> None:
    installed.append(EntryPoint("lost", "no_such_module_here:Agent", registry.GROUP))
    with pytest.raises(AgentFileError, match=r"no_such_module_here:Agent of the package .*: agent 'lost' can't be imp"):
        find_agent("lost")
