"""`ToolAgent` on the driver and the engine over HTTP; with a tokenizer and its template, or ids that are ready."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from measured import PROMPT, TURNS, measure

from agentic_rl.agents import Message, Task, ToolAgent, Trajectory, tool
from agentic_rl.rollout.chat import ChatFormat
from agentic_rl.rollout.driver import Driver
from agentic_rl.rollout.engines.http_engine import HttpEngine
from agentic_rl.rollout.engines.http_faults import Backoff

GROUP = 8
CALL = '<tool_call>\n{"name": "calculator", "arguments": {"expression": "12*7"}}\n</tool_call>'
ANSWER = r"\boxed{84}"


@tool(inline=True)
def calculator(expression: str) -> str:
    """Evaluate an arithmetic expression.

    Args:
        expression: numbers and operators.
    """
    return str(12 * 7)


def judge(task: Task, messages: Sequence[Message]) -> float:
    """Return 1 for the right answer."""
    return float(messages[-1].get("content") == ANSWER)


class ReadyFormat(ChatFormat):
    """A format whose ids and texts are ready, so that its tokenizer and its template have nothing to do."""

    def __init__(self, tokenizer: Any, call: list[int]) -> None:
        super().__init__(tokenizer)
        self._call_ids = call
        self._ready = ReadyDialog(self)

    def dialog(self, tools: Any = None, template_options: Any = None) -> Any:
        """Return what is ready for every set of tools."""
        return super().dialog() if tools is None else self._ready

    def text(self, reply: Sequence[int]) -> str:
        """Return the text of one of the two replies."""
        return CALL if reply == self._call_ids else ANSWER


class ReadyDialog:
    """Stands for `Dialog`."""

    def __init__(self, formats: ChatFormat) -> None:
        self._formats = formats

    def prompt_ids(self, messages: Sequence[Message]) -> tuple[int, ...]:
        """Return a hundred ids."""
        return tuple(range(100, 200))

    def suffix_ids(self, follow_up: Sequence[Message], *, thoughts: bool = False) -> tuple[int, ...]:
        """Return the ids of any tool result."""
        return (self._formats.end_of_turn, *range(200, 220))

    def settled(self, text: str) -> str:
        """Return nothing: no reply is streamed."""
        return ""

    def read(self, text: str) -> Any:
        """Split a reply into its content and its calls."""
        return self._formats.call_format.read(text, ())


def prepare(options: argparse.Namespace) -> ChatFormat:
    """Load what the rollouts need, before memory is counted."""
    from agentic_rl.projects.quickstart.problems import every_text
    from agentic_rl.projects.quickstart.tokenizer import build_tokenizer

    tokenizer = build_tokenizer(every_text())
    if options.tokens == "ready":
        return ReadyFormat(tokenizer, [int(token) for token in options.call.split(",")])
    chat_format = ChatFormat(tokenizer)
    chat_format.initial_ids([{"role": "user", "content": PROMPT}], [calculator])
    return chat_format


async def driver_of(options: argparse.Namespace) -> tuple[HttpEngine, Driver]:
    """Connect the engine, and put a driver on it."""
    engine = await HttpEngine.connect(
        [f"127.0.0.1:{options.port}"],
        try_timeout=float(options.timeout or 300),
        backoff=Backoff(0.02, 1.0),
        tries=10,
    )
    limits = {"max_prompt_length": 512, "max_response_length": 512, "max_tokens": 64, "max_steps": 5}
    return engine, Driver(engine, options.prepared, n_parallel_agents=options.agents, **limits)


def tasks_of(options: argparse.Namespace) -> list[Task]:
    """Return a task for each rollout, in groups of eight."""
    return [
        Task([{"role": "user", "content": PROMPT.format(number=number // GROUP)}], 84, idx=number // GROUP, seed=number)
        for number in range(options.rollouts)
    ]


async def run(options: argparse.Namespace) -> int:
    """Make the rollouts."""
    engine, driver = await driver_of(options)
    try:
        trajectories = await driver.run(ToolAgent(tools=[calculator], reward=judge), tasks_of(options))
    finally:
        await engine.close()
    return sum(map(came_out_right, trajectories))


def came_out_right(trajectory: Trajectory) -> bool:
    """Whether reward, turns and what was recorded are as they must be."""
    whole = len(trajectory.response_tokens) == len(trajectory.response_masks) == len(trajectory.response_logprobs)
    return trajectory.trajectory_reward == 1.0 and trajectory.metrics["turns"] == TURNS and whole


if __name__ == "__main__":
    measure(run, ["tokens", "call", "timeout"], prepare)
