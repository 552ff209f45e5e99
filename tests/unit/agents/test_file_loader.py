from __future__ import annotations

import pickle
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentic_rl.agents import Agent, AgentFileError, BaseEngineWrapper, ToolAgent, load_agent_file, registry

GOOD = """
from agentic_rl.agents import BaseEngineWrapper

class Wrapper(BaseEngineWrapper):
    def generate_agent_trajectories_async(self, tasks):
        return []
"""


@pytest.fixture(autouse=True)
def _modules() -> Iterator[None]:
    modules, path = dict(sys.modules), list(sys.path)
    yield
    sys.path[:] = path
    for name in sys.modules.keys() - modules.keys():
        del sys.modules[name]


def write(folder: Path, text: str, name: str = "agent.py") -> Path:
    file = folder / name
    file.write_text(text, encoding="utf-8")
    return file


def test_the_one_subclass_is_found(tmp_path: Path) -> None:
    wrapper = load_agent_file(write(tmp_path, GOOD))
    assert isinstance(wrapper, type)
    assert issubclass(wrapper, BaseEngineWrapper)
    assert wrapper.__name__ == "Wrapper"
    assert sys.modules[wrapper.__module__].__file__ == str(tmp_path / "agent.py")


def test_siblings_are_imported_even_later_and_nothing_is_written(tmp_path: Path) -> None:
    write(tmp_path, "VALUE = 1", "sibling_one.py")
    write(tmp_path, "VALUE = 2", "sibling_two.py")
    text = (
        "import sibling_one\n"
        + GOOD
        + "        \n    def late(self):\n        import sibling_two\n        return sibling_two.VALUE\n"
    )
    wrapper = load_agent_file(write(tmp_path, text))
    assert sys.path[-1] == str(tmp_path)
    assert not (tmp_path / "__pycache__").exists()
    assert wrapper("a", None).late() == 2  # type: ignore[operator,union-attr]


def test_a_sibling_wins_over_an_installed_package_while_the_file_is_imported(tmp_path: Path) -> None:
    write(tmp_path, "VALUE = 'own'", "this_package_is_ours.py")
    other = tmp_path / "site"
    other.mkdir()
    write(other, "VALUE = 'installed'", "this_package_is_ours.py")
    sys.path.append(str(other))
    wrapper = load_agent_file(write(tmp_path, GOOD + "    import this_package_is_ours as module\n"))
    assert wrapper.module.VALUE == "own"  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("import math\n\n1/0\n", 3, "ZeroDivisionError: division by zero"),
        ("def f():\n    raise KeyError('x')\n\nf()\n", 2, "KeyError: 'x'"),
        ("import json\njson.loads('{')\n", 2, "JSONDecodeError: Expecting property name"),
        ("import no_such_module_here\n", 1, "ModuleNotFoundError: No module named 'no_such_module_here'"),
        ("x = (\n", 1, "SyntaxError: '(' was never closed"),
        ("raise SystemExit(3)\n", 1, "SystemExit: 3"),
    ],
)
def test_an_exception_has_the_files_own_line(tmp_path: Path, text: str, line: int, said: str) -> None:
    file = write(tmp_path, text)
    with pytest.raises(AgentFileError) as caught:
        load_agent_file(file)
    assert caught.value.line == line
    assert str(caught.value).startswith(f"{file}:{line}: {said}")
    assert not [name for name in sys.modules if name.startswith("agentic_rl_agent_file")]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x = 1\n", "needs exactly one subclass of BaseEngineWrapper or Agent, and it has none"),
        ("from agentic_rl.agents import BaseEngineWrapper\n", "and it has none"),
        (GOOD + GOOD.replace("Wrapper(", "Second("), "and it has Wrapper, Second"),
        (
            "from agentic_rl.agents import BaseEngineWrapper\nclass Bare(BaseEngineWrapper):\n    pass\n",
            "Bare has neither generate_trajectory nor generate_agent_trajectories_async",
        ),
    ],
)
def test_what_a_file_must_hold(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(AgentFileError, match=said):
        load_agent_file(write(tmp_path, text))


def test_a_class_that_another_one_refines_does_not_count(tmp_path: Path) -> None:
    text = GOOD + "\nclass Second(Wrapper):\n    pass\n\nAlias = Second\n"
    wrapper = load_agent_file(write(tmp_path, text))
    assert isinstance(wrapper, type)
    assert wrapper.__name__ == "Second"


AGENT = """
from agentic_rl.agents import Agent

class Base(Agent):
    pass

class Mine(Base):
    async def run(self, task, model):
        return 1.0
"""


def test_a_file_may_hold_an_agent(tmp_path: Path) -> None:
    agent = load_agent_file(write(tmp_path, AGENT))
    assert isinstance(agent, Agent)
    assert type(agent).__name__ == "Mine"
    broken = write(tmp_path, AGENT + "\n    def __init__(self, x):\n        pass\n", "broken.py")
    with pytest.raises(AgentFileError, match=r"Mine\(\) can't be made: TypeError: .*'x'"):
        load_agent_file(broken)


def test_a_missing_file_is_an_agent_file_error(tmp_path: Path) -> None:
    with pytest.raises(AgentFileError, match="FileNotFoundError"):
        load_agent_file(tmp_path / "missing.py")


def test_the_error_survives_pickling() -> None:
    error = AgentFileError("/a.py", 3, "it broke")
    assert str(pickle.loads(pickle.dumps(error))) == str(error) == "/a.py:3: it broke"


def test_what_a_caller_has_read_is_run_and_the_name_is_not_opened_again(tmp_path: Path) -> None:
    wrapper = load_agent_file(tmp_path / "gone.py", GOOD.encode())
    assert isinstance(wrapper, type)
    assert wrapper.__name__ == "Wrapper"


def test_a_constructor_that_needs_arguments_has_its_line(tmp_path: Path) -> None:
    text = "from agentic_rl import Agent\n\nclass Mine(Agent):\n    def __init__(self, url):\n        self.url = url\n"
    file = write(tmp_path, text + "    async def run(self, task, model):\n        return 0.0\n")
    with pytest.raises(AgentFileError, match=r"Mine\(\) can't be made: TypeError") as caught:
        load_agent_file(file)
    assert caught.value.line == 4


SHOPPER = "from agentic_rl import ToolAgent, register_agent\n"


@pytest.mark.parametrize(
    "text",
    [
        "agent = ToolAgent(max_turns=3)\n",
        "agent = other_name = ToolAgent(max_turns=3)\n",
        "register_agent('shopper', ToolAgent(max_turns=3))\n",
        "agent = register_agent('shopper', ToolAgent(max_turns=3))\n",
        "@register_agent('shopper')\ndef make():\n    return ToolAgent(max_turns=3)\n",
        "class Mine(ToolAgent):\n    pass\n\nagent = Mine(max_turns=3)\n",
        "@register_agent('shopper')\nclass Mine(ToolAgent):\n"
        "    def __init__(self):\n        super().__init__(max_turns=3)\n",
    ],
)
def test_a_file_may_make_or_register_its_agent(tmp_path: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_registered", {})
    monkeypatch.setattr(registry, "REGISTERED_AGENTS", set())
    file = write(tmp_path, SHOPPER + text)
    for _ in range(2):  # a process may load it twice
        agent = load_agent_file(file)
        assert isinstance(agent, ToolAgent)
        assert agent.max_turns == 3


def test_two_agents_that_a_file_makes_are_named(tmp_path: Path) -> None:
    with pytest.raises(AgentFileError, match=r"and it has one, two"):
        load_agent_file(write(tmp_path, SHOPPER + "one, two = ToolAgent(), ToolAgent()\n"))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("import sys\nsys.path[:] = []\n1/0\n", "ZeroDivisionError"),
        ("class Odd(BaseException):\n    pass\n\nraise Odd('from afar')\n", "Odd: from afar"),
        ("def f():\n    f()\n\nf()\n", "RecursionError"),
        ("raise GeneratorExit\n", "GeneratorExit"),
    ],
)
def test_a_hostile_file_is_an_agent_file_error(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(AgentFileError, match=said):
        load_agent_file(write(tmp_path, text))


def test_a_file_that_clears_the_import_path_still_loads(tmp_path: Path) -> None:
    kept = list(sys.path)
    wrapper = load_agent_file(write(tmp_path, GOOD + "\nimport sys\nsys.path[:] = []\n"))
    assert sys.path == [str(tmp_path)]
    sys.path[:] = kept
    assert isinstance(wrapper, type)


@pytest.mark.parametrize("root", ["agentic_rl", "aura"])
def test_the_module_paths_of_released_files_are_found(tmp_path: Path, root: str) -> None:
    released = f"{root}.runner.agent_engine_wrapper"
    text = (
        f"from {released}.base import Step, StepTrajectory, Trajectory\n"
        f"from {released}.base_engine_wrapper import AgentTask, BaseEngineWrapper\n"
        f"from {released} import BaseEngineWrapper as same\n"
        f"from {root} import MemoryConfig, MemorySummary\n"
        f"from {root}.runner import BaseEngineWrapper, Step, StepTrajectory, Trajectory\n"
        f"from {root}.memory.memory_config import MemoryConfig as config\n"
        f"from {root}.memory.memory_summary import MemorySummary as summary\n"
        f"import {released}.base_engine_wrapper as again\n\n"
        "assert (same, config, summary) == (again.BaseEngineWrapper, MemoryConfig, MemorySummary)\n\n"
        "class Mine(again.BaseEngineWrapper):\n"
        "    def __init__(self, agent_name, tokenizer, sampling_params=None, max_steps=5):\n"
        "        super().__init__()\n"
        "        self.agent_name = agent_name\n\n"
        "    async def generate_trajectory(self, task: AgentTask, stream_queue=None, *args, **kwargs) -> Trajectory:\n"
        "        return Trajectory(prompt_tokens=[1], response_tokens=[2], response_masks=[1])\n"
    )
    wrapper = load_agent_file(write(tmp_path, text))
    assert isinstance(wrapper, type)
    assert issubclass(wrapper, BaseEngineWrapper)
    assert wrapper(agent_name="x", tokenizer=None).agent_name == "x"
    with pytest.raises(AgentFileError, match=r"No module named 'aura\.trainer'"):
        load_agent_file(write(tmp_path, "import aura.trainer\n", "other.py"))
