"""A task as existing wrappers expect it."""

from __future__ import annotations

from typing import Any

from agentic_rl.agents.task import Task


class WrapperTask(dict[str, Any]):
    """A dictionary whose keys are attributes, too: the two released forms of wrappers read tasks either way."""

    @classmethod
    def of(cls, task: Task, agent_name: str) -> WrapperTask:
        """Return the task with the row's `extra_info` spread out, and under every name that wrappers look for."""
        question = next(
            (message.get("content") for message in reversed(task.prompt) if message.get("role") == "user"), ""
        )
        number = f"{task.idx}-{task.sample}"
        return cls(
            {
                "problem": question,
                "question": question,
                "content": "",
                "iteration": 0,
                **task.extra_info,
                "prompt": [dict(message) for message in task.prompt],
                "ground_truth": task.ground_truth,
                "data_source": task.data_source,
                "extra_info": dict(task.extra_info),
                "extra_args": dict(task.extra_info),
                "agent_name": agent_name,
                "id": number,
                "task_id": number,
                "idx": task.idx,
                "prompt_id": task.idx,
                "sample_id": task.sample,
            }
        )

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"the task has no {name!r}; it has {', '.join(self)}") from None
