"""What one call asks of an agent."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from agentic_rl.agents.task import Message, Task


@dataclass(frozen=True)
class AgentCall:
    """One run of an agent; the names are those of the request."""

    problem: str | list[Message]
    """A question, or a conversation in OpenAI's form."""
    ground_truth: Any = None
    sample_id: int | str = 0
    iteration: int = 0
    extra_args: Mapping[str, Any] = field(default_factory=dict)
    """What a row of data has in `extra_info`; `seed` makes a run repeatable, `data_source` goes to the task."""

    def task(self) -> Task:
        """The task as agents know it."""
        prompt = [{"role": "user", "content": self.problem}] if isinstance(self.problem, str) else self.problem
        seed = self.extra_args.get("seed")
        return Task(
            prompt=[dict(message) for message in prompt],
            ground_truth=self.ground_truth,
            data_source=str(self.extra_args.get("data_source", "")),
            extra_info={**self.extra_args, "sample_id": self.sample_id, "iteration": self.iteration},
            idx=self.sample_id if isinstance(self.sample_id, int) else 0,
            seed=seed if isinstance(seed, int) else secrets.randbits(31),
        )
