"""`python`: the policy writes a program, and reads what it prints."""

from __future__ import annotations

import os
from collections.abc import Mapping

from agentic_rl.agents.tool import Tool, ToolResult, tool
from agentic_rl.agents.tools.sandbox import Sandbox
from agentic_rl.agents.tools.sandbox_call import Outcome

STRENGTH = "AGENTIC_RL_SANDBOX"
"""Environment variable: `weak` allows a weak sandbox where the machine has no other; `full`, the default, does not."""


def python_tool(sandbox: Sandbox | None = None) -> Tool:
    """Make the tool `python`.

    Args:
        sandbox: where the code runs; None: one of its own, with the usual limits, and weak only if the environment
            variable `AGENTIC_RL_SANDBOX` is `weak`.

    Raises:
        SandboxError: this machine can't keep the code apart; the message says what is missing.
        ValueError: the variable has another value.
    """
    where = sandbox or Sandbox(weak=weak_is_allowed(os.environ))

    @tool
    async def python(code: str) -> ToolResult:
        """Run a Python program and return what it prints. Each call starts anew: no variables are kept.

        Args:
            code: the whole program; print the results.
        """
        outcome = await where.run(code)
        return ToolResult(_text(outcome), ok=outcome.ok)

    return python


def weak_is_allowed(environ: Mapping[str, str]) -> bool:
    """Return whether the environment allows a weak sandbox.

    Raises:
        ValueError: it says something else.
    """
    strength = environ.get(STRENGTH, "").strip() or "full"
    if strength not in ("full", "weak"):
        raise ValueError(f"{STRENGTH} is {strength!r}; it must be full or weak")
    return strength == "weak"


def _text(outcome: Outcome) -> str:
    problem = outcome.problem
    if outcome.status and not outcome.output:
        problem = f"the program ended with status {outcome.status}"
    if not problem:
        return outcome.output or "The program printed nothing."
    separator = "" if not outcome.output or outcome.output.endswith("\n") else "\n"
    return f"{outcome.output}{separator}Error: {problem}"
