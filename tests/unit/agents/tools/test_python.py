import asyncio
import sys

import pytest

from agentic_rl.agents import ToolResult
from agentic_rl.agents.tools.python import python_tool, weak_is_allowed
from agentic_rl.agents.tools.sandbox import Limits, Sandbox, SandboxError
from agentic_rl.agents.tools.sandbox_call import Outcome


class Fixed:
    """A sandbox in which every program has one outcome."""

    def __init__(self, outcome: Outcome) -> None:
        self.outcome = outcome

    async def run(self, code: str) -> Outcome:
        return self.outcome


@pytest.mark.parametrize(
    ("outcome", "expected"),
    [
        (Outcome("84\n"), ToolResult("84\n")),
        (Outcome(""), ToolResult("The program printed nothing.")),
        (Outcome("", status=3), ToolResult("Error: the program ended with status 3", ok=False)),
        (Outcome("Traceback ...\n", status=1), ToolResult("Traceback ...\n", ok=False)),
        (Outcome("a", "stopped after 10 s"), ToolResult("a\nError: stopped after 10 s", ok=False)),
        (Outcome("a\n", "stopped after 10 s"), ToolResult("a\nError: stopped after 10 s", ok=False)),
    ],
)
def test_the_model_reads_what_the_program_printed_and_why_it_was_stopped(outcome, expected):
    assert asyncio.run(python_tool(Fixed(outcome)).call({"code": "x"})) == expected


@pytest.mark.parametrize(("value", "weak"), [("", False), ("full", False), (" weak ", True)])
def test_the_environment_allows_a_weak_sandbox(value, weak):
    assert weak_is_allowed({"AGENTIC_RL_SANDBOX": value}) is weak
    assert weak_is_allowed({}) is False


def test_another_strength_is_refused():
    with pytest.raises(ValueError, match="AGENTIC_RL_SANDBOX is 'none'; it must be full or weak"):
        weak_is_allowed({"AGENTIC_RL_SANDBOX": "none"})


def test_the_model_reads_what_the_tool_is_for():
    schema = python_tool(Fixed(Outcome("")))
    assert schema.name == "python"
    assert schema.parameters["required"] == ["code"]
    assert "no variables are kept" in schema.description


@pytest.mark.skipif(sys.platform != "linux", reason="the sandbox is made of Linux")
def test_it_runs_real_programs():
    try:
        sandbox = Sandbox(Limits(seconds=5))
    except SandboxError as error:
        pytest.skip(str(error))
    try:
        tool = python_tool(sandbox)
        assert asyncio.run(tool.call('{"code": "print(12 * 7)"}')) == ToolResult("84\n")
        assert not asyncio.run(tool.call('{"code": "1 / 0"}')).ok
    finally:
        sandbox.close()
