"""`agent_name: math`: word problems, a calculator or Python, an answer in a box, reward 1 for the right one."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import partial

from agentic_rl.agents.equality import boxed, compared, same_answer
from agentic_rl.agents.task import Message, Task
from agentic_rl.agents.threads import run_in_thread
from agentic_rl.agents.tool import Tool
from agentic_rl.agents.tool_agent import ToolAgent
from agentic_rl.agents.tool_source import chosen
from agentic_rl.agents.tools.calculator import calculator


def exact_answer(task: Task, messages: Sequence[Message]) -> float:
    """Return 1.0 if the last box of the last reply equals `task.ground_truth`, else 0.0."""
    answer = _boxed_answer(messages)
    return float(answer is not None and same_answer(answer, str(task.ground_truth)))


def _boxed_answer(messages: Sequence[Message]) -> str | None:
    last = messages[-1] if messages else {}
    return boxed(last.get("content") or "") if last.get("role") == "assistant" else None


def _python() -> Tool:
    from agentic_rl.agents.tools.python import python_tool

    return python_tool()


MAKERS: dict[str, Callable[[], Tool]] = {"calculator": lambda: calculator, "python": _python}
"""The tools there are. `python` starts a process when the first rollout has it, and needs a machine that can keep code
apart."""


class MathAgent(ToolAgent):
    """Takes the prompt of the data as it is; the data's own messages say what form the answer has.

    Args:
        tools: what the policy may call where a row's `extra_info.tool_selection` does not say it: `calculator`,
            `python`, both or none.
    """

    def __init__(self, tools: Sequence[str] = ("calculator",)) -> None:
        unknown = set(tools) - MAKERS.keys()
        if unknown:
            raise ValueError(f"tools has {', '.join(sorted(unknown))}; there are: {', '.join(MAKERS)}")
        super().__init__()
        self.usual = frozenset(tools)
        self._made: dict[str, Tool] = {}
        self._lock = threading.Lock()

    async def tools_for(self, task: Task) -> Sequence[Tool]:
        """Return the tools that the row selects, or the usual ones."""
        asked = task.extra_info.get("tool_selection") if task.extra_info else None
        wanted = chosen(MAKERS, task.extra_info) if asked else self.usual
        missing = [name for name in wanted if name not in self._made]
        if missing:
            await run_in_thread(partial(self._make, missing), "tools of math")
        return tuple(self._made[name] for name in MAKERS if name in wanted)

    async def reward(self, task: Task, messages: Sequence[Message]) -> float:
        """Judge the last box of the last reply; where it takes math-verify, beside the event loop."""
        answer, truth = _boxed_answer(messages), str(task.ground_truth)
        if answer is None:
            return 0.0
        same = compared(answer, truth)
        if same is None:
            same = await run_in_thread(partial(same_answer, answer, truth), "math_verify")
        return float(same)

    def _make(self, names: Sequence[str]) -> None:
        with self._lock:
            for name in names:
                if name not in self._made:
                    self._made[name] = MAKERS[name]()
