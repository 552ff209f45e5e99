"""`python`: the policy writes a program, and reads what it prints."""

from __future__ import annotations

import os
from collections.abc import Mapping

from agentic_rl.agents.tool import Tool, ToolResult, tool
from agentic_rl.agents.tools.sandbox import Sandbox
from agentic_rl.agents.tools.sandbox_call import Outcome
from agentic_rl.config.agent_variables import SANDBOX


def python_tool(sandbox: Sandbox | None = None) -> Tool:
    """Make the tool `python`.

    Args:
        sandbox: where the code runs; None: one of its own, with the usual limits, and weak only where the key
            `sandbox` is `weak`, which a run hands over as the variable `AGENTIC_RL_SANDBOX`.

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
    strength = environ.get(SANDBOX, "").strip() or "full"
    if strength not in ("full", "weak"):
        raise ValueError(f"{SANDBOX} is {strength!r}; it must be full or weak")
    return strength == "weak"


def _text(outcome: Outcome) -> str:
    problem = outcome.problem
    if outcome.status and not outcome.output:
        problem = f"the program ended with status {outcome.status}"
    if not problem:
        return outcome.output or "The program printed nothing."
    separator = "" if not outcome.output or outcome.output.endswith("\n") else "\n"
    return f"{outcome.output}{separator}Error: {problem}"
