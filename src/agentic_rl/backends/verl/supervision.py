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

UNEXPECTED = ("WORKER_DIED", "NODE_DIED", "oom")
"""Ray's reasons for the death of an actor that nobody ended."""
REASON = re.compile(r"reason: (\w+)")
MESSAGE = re.compile(r'error_message: "((?:[^"\\]|\\.)*)"')


class Watch:
    """Decides, from what is known of a job, whether it has to be ended."""

    def __init__(
        self, start_limit: float, deaths: Callable[[], Mapping[str, str]], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._start_limit = start_limit
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
        elif now - self._died[0] > GRACE:
            raise WorkerLostError(*lost(self._died[1]))


def lost(what: str) -> tuple[str, str]:
    """Message and remedy for processes that died."""
    memory = any(word in what.lower() for word in ("memory", "oom", "sigkill", "signal 9"))
    remedy = (
        "free memory on the node, or make the job smaller: num_gpus_per_node, rollout_n, max_num_seqs, "
        "gpu_memory_utilization"
        if memory
        else "the logs of that process have its last words"
    )
    return f"a process of the job died: {what}", f"{remedy}; the same command goes on from the last checkpoint"


def dead_actors(table: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """The actors in Ray's `table` that died without being told to: class name and process -> Ray's words."""
    return dict(_unexpected(table.values()))


def _unexpected(actors: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    for actor in actors:
        death = str(actor.get("DeathCause") or "")
        reason = REASON.search(death)
        if any(word in (reason[1] if reason else death) for word in UNEXPECTED):
            name = actor.get("ActorClassName") or actor.get("Name") or "an actor"
            yield f"{name} (process {actor.get('Pid', '?')})", _words(death)


def _words(death: str) -> str:
    """Ray's message on one line, without the list of things that could have been the cause."""
    message = MESSAGE.search(death)
    return " ".join((message[1] if message else death).partition("Some common causes")[0].split())
