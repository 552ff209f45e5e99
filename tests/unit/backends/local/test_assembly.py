from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from agentic_rl.backends.errors import TrainingError
from agentic_rl.backends.local.assembly import build_agent
from agentic_rl.config.diagnostics import ConfigError
from agentic_rl.config.load import Loaded

AGENT = """from agentic_rl import Agent


class Mine(Agent):
    def __init__(self):
        {body}

    async def run(self, task, model):
        return 0.0
"""


@pytest.fixture(autouse=True)
def _modules() -> Iterator[None]:
    modules, path = set(sys.modules), list(sys.path)
    yield
    sys.path[:] = path
    for name in sys.modules.keys() - modules:
        if name.startswith("agentic_rl_agent_file"):
            del sys.modules[name]


@pytest.fixture
def load_with(loaded: Callable[..., Loaded], tmp_path: Path) -> Callable[[str], Loaded]:
    def make(text: str) -> Loaded:
        file = tmp_path / "files" / "agent.py"
        file.parent.mkdir(mode=0o750)
        file.write_text(text)
        return loaded(agent_engine_wrapper_path=str(file))

    return make


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        (AGENT.format(body="raise KeyError('url')"), 6, "Mine() can't be made: KeyError: 'url'"),
        (AGENT.format(body="pass") + "\n\n1 / 0\n", 12, "ZeroDivisionError: division by zero"),
    ],
)
def test_an_exception_of_the_users_file_is_a_finding_with_its_own_line(
    text: str, line: int, said: str, load_with: Callable[[str], Loaded], tmp_path: Path
) -> None:
    with pytest.raises(ConfigError) as caught:
        build_agent(load_with(text))
    (finding,) = caught.value.report
    assert (finding.code, finding.severity, finding.key) == ("ARL416", "error", "agent_engine_wrapper_path")
    assert (finding.file, finding.line, finding.message) == (str(tmp_path / "files" / "agent.py"), line, said)
    assert finding.hint


def test_another_file_in_the_checked_ones_place_is_not_run(load_with: Callable[[str], Loaded], tmp_path: Path) -> None:
    ready = load_with(AGENT.format(body="pass"))
    other = tmp_path / "files" / "other.py"
    other.write_text("raise AssertionError('run')")
    other.replace(tmp_path / "files" / "agent.py")
    with pytest.raises(TrainingError, match="changed after it was checked"):
        build_agent(ready)
