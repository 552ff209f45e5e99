"""An agent of the OpenAI Agents SDK, trained as it is: its client gets the address of the policy."""

from __future__ import annotations

import re

from agents import Agent as Assistant
from agents import AgentsException, OpenAIResponsesModel, RunConfig, Runner, function_tool
from openai import AsyncOpenAI

from agentic_rl import Agent, Task

OPERATIONS = {
    "+": lambda left, right: left + right,
    "-": lambda left, right: left - right,
    "*": lambda left, right: left * right,
    "/": lambda left, right: left // right,
}
UNTRACED = RunConfig(tracing_disabled=True)  # nothing is sent anywhere


@function_tool(strict_mode=False)
def calculator(expression: str) -> str:
    """Evaluate an arithmetic expression.

    Args:
        expression: such as 12*7.
    """
    parts = re.fullmatch(r"\s*(\d+)\s*([-+*/])\s*(\d+)\s*", expression)
    if parts is None:
        return "Error: give two whole numbers with + - * or / between them"
    left, sign, right = parts.groups()
    return str(OPERATIONS[sign](int(left), int(right)))


class Solver(Agent):
    """`agent_name: solver`."""

    def __init__(self) -> None:
        self._client = AsyncOpenAI(base_url="http://localhost", api_key="none")

    async def run(self, task: Task, model) -> float:
        """Let the SDK run its loop; 1 for the right number in the box."""
        client = self._client.with_options(base_url=model.base_url, api_key=model.api_key)
        solver = Assistant("solver", model=OpenAIResponsesModel("policy", client), tools=[calculator])
        try:
            result = await Runner.run(solver, list(task.prompt), max_turns=3, run_config=UNTRACED)
        except AgentsException:  # such as a call of a tool that there is not, or too many turns
            return 0.0
        boxed = re.findall(r"\\boxed\{([^}]*)\}", str(result.final_output))
        return float(bool(boxed) and boxed[-1].strip() == str(task.ground_truth))

    async def close(self) -> None:
        """Close the connections that all rollouts share."""
        await self._client.close()
