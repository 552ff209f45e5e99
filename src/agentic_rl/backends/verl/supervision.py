"""Watches a job of verl: passes on what it reports, and ends it with a reason where verl itself would hang."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from agentic_rl.backends.errors import StartTimeoutError, WorkerLostError

GRACE = 60.0
"""Seconds that a job gets to fail by itself after one of its processes died: its own error tells more."""
LOOK_SECONDS = 2.0
"""How often the processes are looked at."""
WAIT_SECONDS = 0.5

UNEXPECTED = re.compile(r"oom_context|reason: (WORKER_DIED|NODE_DIED)")
"""What Ray writes of an actor that nobody ended."""
EXPECTED = re.compile(r"creation_task_failure_context|Worker exit type: INTENDED_")
"""What it writes of one that failed while it was made, which is an error of its own, or that went by itself."""
SUDDEN = ("sigkill", "signal 9", "end of file", "connection error")
"""What Ray says where a process was there no more from one moment to the next."""
SMALLER = "make the job smaller: num_gpus_per_node, rollout_n, max_num_seqs, gpu_memory_utilization"
MESSAGE = re.compile(r'error_message: "((?:[^"\\]|\\.)*)"')


class Watch:
    """Decides, from what is known of a job, whether it has to be ended."""

    def __init__(
        self,
        start_limit: float,
        deaths: Callable[[], Mapping[str, str]],
        clock: Callable[[], float] = time.monotonic,
        grace: float = GRACE,
    ) -> None:
        self._start_limit = start_limit
        self._grace = grace
        self._deaths = deaths
        self._clock = clock
        self._began = clock()
        self._looked = float("-inf")
        self._died: tuple[float, str] | None = None
        self.started = False
        """Whether the job has begun to train; until then the limit of the start holds."""

    def check(self) -> None:
        """Raise where the job can't go on.

        Raises:
            WorkerLostError: a process died, and the job did not end by itself.
            StartTimeoutError: it does not come up.
        """
        now = self._clock()
        if not self.started and now - self._began > self._start_limit:
            raise StartTimeoutError(
                f"verl did not begin to train within {self._start_limit:g} s",
                "the logs say what it waits for; a large model may need a larger verl.startup_timeout",
            )
        if now - self._looked >= LOOK_SECONDS:
            self._looked = now
            self._look(now)

    def _look(self, now: float) -> None:
        if self._died is None:
            deaths = self._deaths()
            if deaths:
                self._died = now, "; ".join(f"{name}: {cause}" for name, cause in sorted(deaths.items()))
        elif now - self._died[0] > self._grace:
            raise WorkerLostError(*lost(self._died[1]))


def lost(what: str) -> tuple[str, str]:
    """Message and remedy for processes that died."""
    text = what.lower()
    if "memory" in text or "oom" in text:
        remedy = f"free memory on the node, or {SMALLER}"
    elif any(words in text for words in SUDDEN):
        remedy = f"most often the system killed it for memory (`dmesg` says so): {SMALLER}; else its log has a reason"
    else:
        remedy = "the logs of that process have its last words"
    return f"a process of the job died: {what}", f"{remedy}; the same command goes on from the last checkpoint"


def dead_actors(table: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """The actors in Ray's `table` that died without being told to: class name and process -> Ray's words."""
    return dict(_unexpected(table.values()))


def _unexpected(actors: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    for actor in actors:
        death = str(actor.get("DeathCause") or "")
        if UNEXPECTED.search(death) and not EXPECTED.search(death):
            name = actor.get("ActorClassName") or actor.get("Name") or "an actor"
            message = MESSAGE.search(death)
            yield f"{name} (process {actor.get('Pid', '?')})", in_short(message[1] if message else death)


def in_short(death: str) -> str:
    """Ray's message on one line, without the list of things that could have been the cause."""
    return " ".join(death.partition("Some common causes")[0].split())
