"""What is known of the rollouts of one training step, which verl may take in several parts. Needs no verl."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from agentic_rl.backends.errors import StaleSamplesError
from agentic_rl.backends.verl.inside.measures import Summary, reasons, session_of, step_measures


@dataclass
class StepRecord:
    """Grows with each part; one part is `trainer.v1.separate_async.parameter_sync_step` th of a batch."""

    expected: int = 0
    """Rollouts of the parts so far."""
    rollouts: list[Summary] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)
    """Why each expected rollout failed; empty for those that did not."""
    samples: int = 0
    prompts: int = 0
    written: int = 0
    """Tokens of the policy in whole rollouts."""
    skipped: set[str] = field(default_factory=set)
    """Keys of samples from which nothing was learnt."""

    def add(self, keys: Sequence[str], rollouts: Sequence[Summary], expected: int) -> int:
        """Count one part; return the tokens that the policy wrote in its whole rollouts.

        Args:
            keys: of verl's samples.
            rollouts: the summary of each rollout.
            expected: how many rollouts there should be.
        """
        expected = max(expected, len(rollouts))  # a manager of the user's own may sample more
        self.expected += expected
        self.rollouts += rollouts
        self.reasons += reasons(rollouts, expected)
        self.samples += len(keys)
        self.prompts += len({session_of(key)[0] for key in keys})
        written = sum(int(rollout["written"]) for rollout in rollouts if not rollout["error"])
        self.written += written
        return written

    def measures(self) -> dict[str, float]:
        """Of the rollouts so far; nothing where there were none."""
        if not self.expected:
            return {}
        return {
            **step_measures(self.rollouts, self.expected),
            "samples/mean": self.samples / max(len(self.rollouts), 1),
        }


@dataclass
class Staleness:
    """How old the weights are that wrote the samples of a step; one step old is what separate training is for."""

    step: int
    """The step that learns from them; its own weights, those of an on-policy sample, are of the step before."""
    ages: list[int] = field(default_factory=list)
    """Of each sample, by the oldest weights that wrote any of it."""

    def add(self, keys: Iterable[str], tags: Iterable[Mapping[str, Any]], limit: int | None) -> None:
        """Count the samples with verl's `tags`.

        Raises:
            StaleSamplesError: one is more than `limit` steps old.
        """
        for key, tag in zip(keys, tags, strict=True):
            age = self.step - 1 - int(tag["min_global_steps"])
            if limit is not None and age > limit:
                raise StaleSamplesError(
                    f"step {self.step}: the sample {key} was begun with weights that are {age} steps old, "
                    f"and at most {limit} are allowed",
                    "a sampler or an agent_loop_manager_class of your own has to finish older prompts first",
                )
            self.ages.append(age)

    def measures(self) -> dict[str, float]:
        """How many samples are not on-policy, and the age of the oldest in steps."""
        return {
            "samples/stale": float(sum(age > 0 for age in self.ages)),
            "samples/staleness_max": float(max(self.ages, default=0)),
        }
