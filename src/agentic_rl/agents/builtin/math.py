"""`agent_name: math`: word problems, a calculator, an answer in a box, reward 1 for the right one."""

from __future__ import annotations

from collections.abc import Sequence

from agentic_rl.agents.equality import boxed, same_answer
from agentic_rl.agents.task import Message, Task
from agentic_rl.agents.tool_agent import ToolAgent
from agentic_rl.agents.tools.calculator import calculator


def exact_answer(task: Task, messages: Sequence[Message]) -> float:
    """Return 1.0 if the last box of the last reply equals `task.ground_truth`, else 0.0."""
    last = messages[-1]
    answer = boxed(last.get("content") or "") if last.get("role") == "assistant" else None
    return float(answer is not None and same_answer(answer, str(task.ground_truth)))


class MathAgent(ToolAgent):
    """Takes the prompt of the data as it is; the data's own messages say what form the answer has."""

    def __init__(self) -> None:
        super().__init__(tools=[calculator], reward=exact_answer)
