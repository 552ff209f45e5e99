from __future__ import annotations

import pickle
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentic_rl.agents import AgentFileError, BaseEngineWrapper, load_agent_file

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
    assert wrapper("a", None).late() == 2  # type: ignore[attr-defined]


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
        ("x = 1\n", "needs exactly one subclass of BaseEngineWrapper, and it has none"),
        ("from agentic_rl.agents import BaseEngineWrapper\n", "and it has none"),
        (GOOD + "\nclass Second(Wrapper):\n    pass\n", "and it has Wrapper, Second"),
        (
            "from agentic_rl.agents import BaseEngineWrapper\nclass Bare(BaseEngineWrapper):\n    pass\n",
            "Bare has neither generate_agent_trajectories_async nor generate_trajectory",
        ),
    ],
)
def test_what_a_file_must_hold(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(AgentFileError, match=said):
        load_agent_file(write(tmp_path, text))


def test_a_missing_file_is_an_agent_file_error(tmp_path: Path) -> None:
    with pytest.raises(AgentFileError, match="FileNotFoundError"):
        load_agent_file(tmp_path / "missing.py")


def test_the_error_survives_pickling() -> None:
    error = AgentFileError("/a.py", 3, "it broke")
    assert str(pickle.loads(pickle.dumps(error))) == str(error) == "/a.py:3: it broke"
