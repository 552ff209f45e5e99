import os
import threading
from pathlib import Path

import pytest

from agentic_rl.config.agent_file import check_agent_file
from agentic_rl.config.agent_file.reading import _tree_on_large_stack
from agentic_rl.config.diagnostics import Finding
from agentic_rl.config.rules import PAGES

IMPORT = "from agentic_rl import BaseEngineWrapper\n"
METHOD = "    async def generate_trajectory(self, task): ...\n"


@pytest.fixture
def check(tmp_path: Path):
    def run(text: str | bytes) -> list[Finding]:
        file = tmp_path / "agent.py"
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        findings = check_agent_file(str(file), "agent_engine_wrapper_path")
        for one in findings:
            assert (one.key, one.file) == ("agent_engine_wrapper_path", str(file))
            assert one.message
            assert one.hint
            assert one.line is not None
            assert one.column is not None
            assert one.line >= 1
            assert one.column >= 1
            assert one.severity == PAGES[one.code].severity
        return findings

    return run


@pytest.fixture
def only(check):
    def run(text: str | bytes, code: str) -> Finding:
        findings = check(text)
        assert [one.code for one in findings] == [code]
        return findings[0]

    return run


GOOD = {
    "newer method": IMPORT + "class A(BaseEngineWrapper):\n" + METHOD,
    "older method": IMPORT
    + "class A(BaseEngineWrapper):\n    def generate_agent_trajectories_async(self, tasks): return []\n",
    "module": "import agentic_rl\nclass A(agentic_rl.BaseEngineWrapper):\n" + METHOD,
    "module under another name": "import agentic_rl as rl\nclass A(rl.BaseEngineWrapper):\n" + METHOD,
    "name under another name": "from agentic_rl import BaseEngineWrapper as Base\nclass A(Base):\n" + METHOD,
    "released import path": (
        "from agentic_rl.runner.agent_engine_wrapper.base_engine_wrapper import BaseEngineWrapper\n"
        "class A(BaseEngineWrapper):\n" + METHOD
    ),
    "older package name": (
        "import aura.runner.agent_engine_wrapper.base_engine_wrapper as w\nclass A(w.BaseEngineWrapper):\n" + METHOD
    ),
    "star import": "from agentic_rl import *\nclass A(BaseEngineWrapper):\n" + METHOD,
    "assigned name": IMPORT + "Base = BaseEngineWrapper\nclass A(Base):\n" + METHOD,
    "generic": IMPORT + "class A(BaseEngineWrapper[int]):\n" + METHOD,
    "import that may fail": (
        "try:\n    from agentic_rl import BaseEngineWrapper\nexcept Exception:\n    BaseEngineWrapper = object\n"
        "class A(BaseEngineWrapper):\n" + METHOD
    ),
    "stand-in class": (
        "try:\n    from agentic_rl import BaseEngineWrapper\nexcept ImportError:\n    class BaseEngineWrapper: ...\n"
        "class A(BaseEngineWrapper):\n" + METHOD
    ),
    "two definitions of one name": (
        IMPORT
        + f"if True:\n    class A(BaseEngineWrapper):\n    {METHOD}else:\n    class A(BaseEngineWrapper):\n    {METHOD}"
    ),
    "leaf of a chain": IMPORT + f"class A(BaseEngineWrapper):\n{METHOD}class B(A): ...\nclass C(B): ...\n",
    "abstract class beside": (
        IMPORT + "from abc import abstractmethod\n"
        "class Base(BaseEngineWrapper):\n    @abstractmethod\n    def reward(self): ...\n"
        "class A(BaseEngineWrapper):\n" + METHOD
    ),
    "abstract base filled in": (
        IMPORT + "import abc\n"
        "class Base(BaseEngineWrapper):\n    @abc.abstractmethod\n    def generate_trajectory(self, task): ...\n"
        "class A(Base):\n" + METHOD
    ),
    "method from a mixin of the file": IMPORT + f"class Mixin:\n{METHOD}class A(Mixin, BaseEngineWrapper): ...\n",
    "method inside an if": IMPORT + "class A(BaseEngineWrapper):\n    if True:\n    " + METHOD,
    "method by assignment": IMPORT + "class A(BaseEngineWrapper):\n    generate_trajectory = None\n",
    "other classes beside": (
        IMPORT
        + "import abc, enum\nfrom pydantic import BaseModel\nclass Kind(enum.Enum): ...\nclass Row(BaseModel): ...\n"
        "class A(BaseEngineWrapper, abc.ABC):\n" + METHOD
    ),
    "class inside a function": (
        IMPORT + f"class A(BaseEngineWrapper):\n{METHOD}def f():\n    class B(BaseEngineWrapper): ...\n"
    ),
    "own agent": "from agentic_rl import Agent\nclass A(Agent):\n    async def run(self, task, model): ...\n",
    "own agent of the same name": (
        "from agentic_rl import Agent\nclass Agent(Agent):\n    async def run(self, task, model): ...\n"
        "class B(Agent): ...\n"
    ),
    "own tool agent": "from agentic_rl.agents import ToolAgent\nclass A(ToolAgent): ...\n",
    "byte order mark": "\ufeff" + IMPORT + "class A(BaseEngineWrapper):\n" + METHOD,
    "Windows line ends": (IMPORT + "class A(BaseEngineWrapper):\n" + METHOD).replace("\n", "\r\n"),
    "a declared encoding": (
        "# coding: latin-1\n# caf\xe9\n" + IMPORT + "class A(BaseEngineWrapper):\n" + METHOD
    ).encode("latin-1"),
    "an unknown escape": IMPORT + "x = '\\d'\nclass A(BaseEngineWrapper):\n" + METHOD,
}


@pytest.mark.parametrize("text", GOOD.values(), ids=GOOD.keys())
def test_one_class_with_its_method_passes(check, text: str | bytes) -> None:
    assert check(text) == []


NONE = {
    "empty file": "",
    "no class": "x = 1\n",
    "unrelated class": "class A: ...\n",
    "standard library base": "from abc import ABC\nclass A(ABC):\n" + METHOD,
    "another package's Agent": "from elsewhere import Thing\nclass A(Thing): ...\n",
    "name that nothing defines": "class A(BaseEngineWrapper):\n" + METHOD,
    "own class of that name": "class BaseEngineWrapper: ...\nclass A(BaseEngineWrapper):\n" + METHOD,
    "inside a function only": IMPORT + "def f():\n    class A(BaseEngineWrapper): ...\n",
    "inside a class only": IMPORT + "class Outer:\n    class A(BaseEngineWrapper): ...\n",
    "in a comment": "# class A(BaseEngineWrapper)\n",
    "a base that is no name": IMPORT + "class A(make(BaseEngineWrapper)): ...\n",
    "an attribute of a class of the file": IMPORT + "class B(BaseEngineWrapper[x]().y): ...\n",
}


@pytest.mark.parametrize("text", NONE.values(), ids=NONE.keys())
def test_no_class_is_a_finding_that_says_what_to_write(only, text: str) -> None:
    found = only(text, "ARL412")
    assert "no subclass of Agent, ToolAgent, EnvironmentAgent or BaseEngineWrapper" in found.message
    assert "from agentic_rl import BaseEngineWrapper" in found.hint


OURS = "from agentic_rl import Agent, EnvironmentAgent, ToolAgent, register_agent\n"
OBJECTS = {
    "made": "from agentic_rl import ToolAgent\nshopper = ToolAgent(max_turns=4)\n",
    "made and annotated": "import agentic_rl\nshopper: object = agentic_rl.ToolAgent()\n",
    "of a class of the file": OURS + "class A(EnvironmentAgent): ...\nplayer = A(print)\n",
    "registered": OURS + "register_agent('shopper', ToolAgent())\n",
    "registered and kept": OURS + "shopper = register_agent('shopper', ToolAgent())\n",
    "registered function": OURS + "@register_agent('shopper')\ndef make():\n    return ToolAgent()\n",
    "registered class": OURS + "@register_agent('shopper')\nclass A(ToolAgent): ...\n",
    "everything imported": "from agentic_rl import *\nregister_agent('shopper', EnvironmentAgent(print))\n",
    "class that is told its environment": (
        OURS + "class A(EnvironmentAgent):\n    def __init__(self): super().__init__(print)\n"
    ),
    "environment beside its agent": (
        "from agentic_rl import Environment, EnvironmentAgent\n"
        "class Maze(Environment):\n    def reset(self, task): ...\n    def step(self, message): ...\n"
        "agent = EnvironmentAgent(Maze)\n"
    ),
}


@pytest.mark.parametrize("text", OBJECTS.values(), ids=OBJECTS.keys())
def test_a_file_may_make_or_register_its_agent(check, text: str) -> None:
    assert check(text) == []


def test_two_agents_that_a_file_makes_are_several(only) -> None:
    found = only(OURS + "one = ToolAgent()\nregister_agent('two', ToolAgent())\n", "ARL413")
    assert found.message == "2 agents, one (line 2), 'two' (line 3); a file holds one"
    assert found.line == 3


def test_an_environment_agent_without_its_environment_lacks_its_constructor(only) -> None:
    found = only(OURS + "class A(EnvironmentAgent): ...\n", "ARL414")
    assert found.message == "A defines no __init__"
    assert "super().__init__(YourEnvironment)" in found.hint


def test_calls_of_other_things_make_no_agent(only) -> None:
    only(OURS + "import other\na = other.ToolAgent()\nb = print()\nother.register_agent('x', ToolAgent)\n", "ARL412")


def test_only_an_abstract_class_is_a_finding_at_that_class(only) -> None:
    text = IMPORT + (
        "from abc import abstractmethod\n\n\nclass Base(BaseEngineWrapper):\n"
        f"    @abstractmethod\n    def reward(self): ...\n{METHOD}"
    )
    found = only(text, "ARL412")
    assert "Base leaves reward abstract" in found.message
    assert (found.line, found.column) == (5, 1)


def test_several_classes_are_named_with_their_lines(only) -> None:
    found = only(
        IMPORT + f"class A(BaseEngineWrapper):\n{METHOD}class B(A): ...\nif 1:\n    class C(A): ...\n", "ARL413"
    )
    assert "B (line 4), C (line 6)" in found.message
    assert (found.line, found.column) == (6, 5)


def test_an_agent_and_a_wrapper_are_several(only) -> None:
    text = "from agentic_rl import Agent, BaseEngineWrapper\nclass A(Agent): ...\nclass B(BaseEngineWrapper): ...\n"
    assert "A (line 2), B (line 3)" in only(text, "ARL413").message


def test_a_missing_method_names_what_was_probably_meant(only) -> None:
    found = only(IMPORT + "class A(BaseEngineWrapper):\n    def generate_trajectories(self, tasks): ...\n", "ARL414")
    assert "A defines neither generate_trajectory nor generate_agent_trajectories_async" in found.message
    assert found.hint.startswith("rename generate_trajectories?")
    assert (found.line, found.column) == (2, 1)
    found = only("from agentic_rl import Agent\nclass A(Agent):\n    x = 1\n", "ARL414")
    assert found.message == "A defines no run"
    assert found.hint == "write `async def run(self, task, model)`"


def test_an_annotation_without_a_value_defines_nothing(only) -> None:
    only(IMPORT + "class A(BaseEngineWrapper):\n    generate_trajectory: object\n", "ARL414")


UNDECIDED = {
    "foreign wrapper": ("from mylib import SearchWrapper\nclass A(SearchWrapper): ...\n", "mylib.SearchWrapper"),
    "foreign base with a method": ("import mylib\nclass A(mylib.Thing):\n" + METHOD, "mylib.Thing"),
    "relative import": ("from .base import Thing\nclass A(Thing):\n" + METHOD, ".base.Thing"),
    "foreign mixin": (IMPORT + "from mylib import Mixin\nclass A(Mixin, BaseEngineWrapper): ...\n", "mylib.Mixin"),
    "foreign mixin further up": (
        IMPORT + "from mylib import Mixin\nclass B(Mixin): ...\nclass A(B, BaseEngineWrapper): ...\n",
        "mylib.Mixin",
    ),
    "another package's Agent": ("from agents import Agent\nclass A(Agent): ...\n", "agents.Agent"),
}


@pytest.mark.parametrize(("text", "base"), UNDECIDED.values(), ids=UNDECIDED.keys())
def test_what_another_module_decides_is_a_warning(only, text: str, base: str) -> None:
    found = only(text, "ARL415")
    assert found.severity == "warning"
    assert f"depends on {base}, which is not in this file" in found.message


def test_a_syntax_error_has_its_own_place(only) -> None:
    found = only("x = 1\ndef f(:\n", "ARL410")
    assert "invalid syntax" in found.message
    assert (found.line, found.column) == (2, 7)
    only("# coding: nonsense\n", "ARL410")
    only("def f():\nreturn\n", "ARL410")
    only("x = (" * 300, "ARL410")


NOT_TEXT = {
    "another encoding": ("x = 1\ny = 'caf\xe9'\n".encode("latin-1"), "0xe9", (2, 9)),
    "after Chinese text": ("x = '答案".encode() + b"\xff'", "0xff", (1, 8)),
    "UTF-16": ("x = 1".encode("utf-16"), "NUL", (1, 4)),
    "a NUL": (b"x = 1\ny\0 = 2\n", "NUL", (2, 2)),
    "more than 1 MiB": (b"#" * ((1 << 20) + 1), "1 MiB", (1, 1)),
    "signs without end": (b"x = " + b"-" * 100_000 + b"1\n", "nested too deep", (1, 1)),
    "attributes without end": (b"a" + b".b" * 100_000, "nested too deep", (1, 1)),
    "a sum without end": (b"x = " + b"1+" * 100_000 + b"1", "nested too deep", (1, 1)),
    "branches without end": (b"if 1: x\n" + b"elif 1: x\n" * 50_000, "nested too deep", (1, 1)),
}


@pytest.mark.parametrize(("data", "why", "place"), NOT_TEXT.values(), ids=NOT_TEXT.keys())
def test_what_is_no_python_text_is_a_finding(only, data: bytes, why: str, place: tuple[int, int]) -> None:
    found = only(data, "ARL411")
    assert why in found.message
    assert (found.line, found.column) == place


def test_a_file_of_exactly_1_mib_is_read(only) -> None:
    only(b"#" * (1 << 20), "ARL412")


def test_nothing_is_run(check, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    text = f"open({str(ran)!r}, 'w')\n" + IMPORT + "class A(BaseEngineWrapper):\n" + METHOD
    assert check(text) == []
    assert not ran.exists()


def test_what_can_not_be_opened_is_a_finding(tmp_path: Path) -> None:
    (tmp_path / "link.py").symlink_to("agent.py")
    os.mkfifo(tmp_path / "pipe.py")
    for name in ("missing.py", "link.py", ""):
        (found,) = check_agent_file(str(tmp_path / name), "key")
        assert found.code == "ARL309"
    (found,) = check_agent_file(str(tmp_path / "pipe.py"), "key")  # read without waiting for a writer
    assert found.code == "ARL412"


def test_an_unreadable_file_is_a_finding_for_an_ordinary_user(run_as_ordinary_user) -> None:
    result = run_as_ordinary_user(
        """
(folder / "agent.py").touch(0o000)
result = [[one.code, one.message] for one in check_agent_file(str(folder / "agent.py"), "key")]
"""
    )
    assert result == [["ARL309", "the agent file can't be read: Permission denied"]]


def test_a_long_chain_of_classes(check) -> None:
    chain = "".join(f"class C{number + 1}(C{number}): ...\n" for number in range(3000))
    assert check(IMPORT + f"class C0(BaseEngineWrapper):\n{METHOD}{chain}") == []


def test_the_way_of_older_pythons_survives_and_reports_the_same() -> None:
    deep = b"x = " + b"-" * 100_000 + b"1"
    with pytest.raises((RecursionError, MemoryError)):
        _tree_on_large_stack(deep)
    with pytest.raises(SyntaxError):
        _tree_on_large_stack(b"def")
    assert [node.name for node in _tree_on_large_stack(b"class A: ...").body] == ["A"]
    assert threading.stack_size() == 0
