"""Whether a job that ended is started again, and when."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from agentic_rl.cluster.exit_statuses import AGAIN_LATER, CRASH_LOOP, FAILED, INTERRUPTED, is_final, was_stopped

SIGNALLED = 128
"""Statuses above it: a signal ended the process, which is the number beyond."""


@dataclass(frozen=True)
class RetryPolicy:
    """How often, and how soon."""

    max_retries: int = 100
    first_wait: float = 5.0
    """Seconds before the first retry, and before each that follows a start with steps; they double from there."""
    longest_wait: float = 300.0
    """Seconds; no wait is longer, but for the jitter."""
    jitter: float = 0.25
    """Share of a wait by which it is shorter or longer, so that nodes don't all come at once."""
    most_failures: int = 2
    """Starts in a row without a step, ended by the job itself: with so many it is a crash loop."""
    most_kills: int = 5
    """The same where signals from outside count, too: a machine kills for memory or to make room."""

    def wait(self, fruitless: int, draw: random.Random) -> float:
        """Seconds before the next start, after `fruitless` starts in a row without a step."""
        plain = min(self.longest_wait, self.first_wait * 2.0 ** min(fruitless, 60))
        return plain * draw.uniform(1 - self.jitter, 1 + self.jitter)


@dataclass(frozen=True)
class Attempt:
    """One start of the job, after its end."""

    status: int
    """As a shell gives it: above 128 where a signal ended it."""
    stepped: bool
    """Whether it came further than where it began."""

    @property
    def killed(self) -> bool:
        """Whether a signal from outside ended it."""
        return self.status > SIGNALLED


@dataclass(frozen=True)
class Verdict:
    """What follows the end of a start."""

    kind: Literal["again", "ended", "crash loop", "no retries left"]
    status: int = 0
    """The supervisor's own, unless it is `again`."""
    fruitless: int = 0
    """Starts in a row without a step."""


def judge(attempts: Sequence[Attempt], policy: RetryPolicy) -> Verdict:
    """Decide what follows the last of `attempts`, which has ended."""
    last = attempts[-1]
    if is_final(last.status):
        return Verdict("ended", INTERRUPTED if was_stopped(last.status) else last.status)
    in_vain = _in_vain(attempts)
    failures = sum(not attempt.killed for attempt in in_vain)
    if failures >= policy.most_failures or len(in_vain) >= policy.most_kills:
        return Verdict("crash loop", CRASH_LOOP, len(in_vain))
    if len(attempts) > policy.max_retries:
        # Without a retry the job's own failure is all that is known.
        return Verdict("no retries left", AGAIN_LATER if policy.max_retries else FAILED, len(in_vain))
    return Verdict("again", fruitless=len(in_vain))


def _in_vain(attempts: Sequence[Attempt]) -> list[Attempt]:
    """The starts since the last one that made a step."""
    found: list[Attempt] = []
    for attempt in reversed(attempts):
        if attempt.stepped:
            break
        found.append(attempt)
    return found
