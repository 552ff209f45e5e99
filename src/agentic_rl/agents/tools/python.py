"""`python`: the policy writes a program, and reads what it prints."""

from __future__ import annotations

from agentic_rl.agents.tool import Tool, ToolResult, tool
from agentic_rl.agents.tools.sandbox import Sandbox
from agentic_rl.agents.tools.sandbox_call import Outcome


def python_tool(sandbox: Sandbox | None = None) -> Tool:
    """Make the tool `python`.

    Args:
        sandbox: where the code runs; None: one of its own, with the usual limits and full strength.

    Raises:
        SandboxError: this machine can't keep the code apart; the message says what is missing.
    """
    where = sandbox or Sandbox()

    @tool
    async def python(code: str) -> ToolResult:
        """Run a Python program and return what it prints. Each call starts anew: no variables are kept.

        Args:
            code: the whole program; print the results.
        """
        outcome = await where.run(code)
        return ToolResult(_text(outcome), ok=outcome.ok)

    return python


def _text(outcome: Outcome) -> str:
    problem = outcome.problem
    if outcome.status and not outcome.output:
        problem = f"the program ended with status {outcome.status}"
    if not problem:
        return outcome.output or "The program printed nothing."
    separator = "" if not outcome.output or outcome.output.endswith("\n") else "\n"
    return f"{outcome.output}{separator}Error: {problem}"
