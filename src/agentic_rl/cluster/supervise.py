"""Runs a job, and starts it again when it fails; the job itself goes on from its newest whole checkpoint."""

from __future__ import annotations

import fcntl
import random
import re
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from agentic_rl.backends.run_folder import LOCK
from agentic_rl.cluster import progress, status
from agentic_rl.cluster.children import Child, Command, binary_output, received
from agentic_rl.cluster.exit_statuses import INTERRUPTED
from agentic_rl.cluster.parent import GRACE_SECONDS
from agentic_rl.cluster.progress import Progress
from agentic_rl.cluster.retry import Attempt, RetryPolicy, Verdict, judge

LOOK_SECONDS = 0.2
STEADY_SECONDS = 60.0
"""A job without a run's folder made a step when it ran so long."""
BUSY_SECONDS = 120.0
"""How long processes of the start before may take to let go of the run's folder."""
ERROR_BYTES = 1 << 14
LOG = "supervised"
"""Begins the name of the log. Not `job`: launching, which may be what is supervised, prints what that one has."""
_ERROR = re.compile(r"\berror\b|Error\b|Exception\b")
_STATES: dict[str, status.State] = {"crash loop": "gave up", "no retries left": "gave up"}


@dataclass(frozen=True)
class Supervised:
    """What is run, and where."""

    command: Sequence[str]
    run: Path | None
    """The run's folder; None where the job has none."""
    states: Path
    """The folder for the status and the job's log."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Of the command, on top of this process's."""
    node: int = 0
    policy: RetryPolicy = field(default_factory=RetryPolicy)

    @property
    def status_file(self) -> Path:
        """What a node's supervisor says of itself."""
        return self.states / f"supervisor-{self.node}.json"


class Supervisor:
    """One job, started as often as needed."""

    def __init__(self, job: Supervised, say: Callable[[str], None], draw: random.Random | None = None) -> None:
        self._job = job
        self._say = say
        self._draw = draw or random.Random()  # noqa: S311 - spreads waits; no secret
        self._attempts: list[Attempt] = []
        self._stopping = 0
        self._child: Child | None = None
        self._before: Progress | None = None
        self._begin = 0
        """Where the log of the present start begins."""

    def run(self) -> int:
        """Run the job to its end; the exit status (see `statuses`)."""
        said = status.NodeStatus(self._job.node, "supervisor")
        with status.StatusFile(self._job.status_file, said) as file, received(self._signalled):
            verdict = self._attempt(file)
            while verdict.kind == "again":
                self._wait(verdict, file)
                verdict = self._attempt(file)
            self._tell_end(verdict, file)
        return verdict.status

    def _wait(self, verdict: Verdict, file: status.StatusFile) -> None:
        """Let time pass before the next start, and until processes of the last one are gone."""
        seconds = self._job.policy.wait(verdict.fruitless, self._draw)
        file.update(state="waiting", message=last_error(self._log, self._begin))
        retry = f"retry {len(self._attempts)} of {self._job.policy.max_retries}"
        self._say(f"starting again in {seconds:.1f} s ({retry})")
        self._sleep_until(time.monotonic() + seconds, lambda: False)
        run = self._job.run
        if run is not None:
            self._sleep_until(time.monotonic() + BUSY_SECONDS, lambda: _free(run))

    def _attempt(self, file: status.StatusFile) -> Verdict:
        if self._stopping:
            return Verdict("ended", INTERRUPTED)
        before = self._look()
        file.update(state="running", attempt=len(self._attempts), step=before.reached, exit_status=None, message="")
        began = time.monotonic()
        ended = self._run_once(file)
        after = self._look()
        stepped = self._stepped(before, after, time.monotonic() - began)
        self._attempts.append(Attempt(ended, stepped))
        self._before = after
        file.update(step=after.reached, exit_status=ended)
        if self._stopping:
            return Verdict("ended", 0 if ended == 0 else INTERRUPTED)
        self._tell(ended, after)
        return judge(self._attempts, self._job.policy)

    def _run_once(self, file: status.StatusFile) -> int:
        """The status of the job, started once."""
        command = Command(LOG, self._job.command, self._log, self._job.environment)
        self._begin = self._log.stat().st_size if self._log.exists() else 0
        self._child = child = Child(command, binary_output())
        looked = time.monotonic()
        try:
            while not child.gone():
                child.print_new()
                time.sleep(LOOK_SECONDS)
                if time.monotonic() - looked > status.BEAT_SECONDS:
                    looked = time.monotonic()
                    file.update(step=self._look().reached)
            return child.finish(GRACE_SECONDS)
        except BaseException:
            child.signal(signal.SIGKILL)
            child.finish(GRACE_SECONDS)
            raise
        finally:
            self._child = None

    def _stepped(self, before: Progress, after: Progress, seconds: float) -> bool:
        if self._job.run is None:
            return seconds >= STEADY_SECONDS
        again_there = self._before is not None and progress.stuck(self._before, after)
        return progress.stepped(before, after) and not again_there

    def _look(self) -> Progress:
        return progress.look(self._job.run) if self._job.run else Progress()

    def _signalled(self, number: int) -> None:
        """Pass a signal on, and start nothing again; the third kills."""
        self._stopping += 1
        child = self._child
        if child is None:
            return
        child.signal(signal.SIGKILL if self._stopping > 2 else asked(number))

    def _sleep_until(self, end: float, done: Callable[[], bool]) -> None:
        while not self._stopping and not done() and (left := end - time.monotonic()) > 0:
            time.sleep(min(LOOK_SECONDS, left))

    @property
    def _log(self) -> Path:
        return self._job.states / f"{LOG}-{self._job.node}.log"

    def _tell(self, ended: int, after: Progress) -> None:
        if ended == 0:
            return
        how = f"signal {ended - 128} ended the job" if ended > 128 else f"the job ended with status {ended}"
        where = f", the newest checkpoint is of step {after.checkpoint}" if after.checkpoint >= 0 else ", no checkpoint"
        self._say(f"{how} after step {after.reached}{where if self._job.run else ''}")

    def _tell_end(self, verdict: Verdict, file: status.StatusFile) -> None:
        state: status.State = "finished" if verdict.status == 0 else "failed"
        if verdict.status == INTERRUPTED:
            state = "stopped"
        error = "" if verdict.status in (0, INTERRUPTED) else last_error(self._log, self._begin)
        file.update(state=_STATES.get(verdict.kind, state), exit_status=verdict.status, message=error)
        if verdict.kind == "crash loop":
            self._say(f"giving up: {verdict.fruitless} starts in a row made no step; the last error:\n{error}")
        elif verdict.kind == "no retries left":
            retries = self._job.policy.max_retries
            self._say(f"giving up: all {retries} retries are used up; the last error:\n{error}")


def supervise(
    command: Sequence[str],
    policy: RetryPolicy,
    run: Path | None,
    say: Callable[[str], None],
    *,
    states: Path | None = None,
    node: int = 0,
    draw: random.Random | None = None,
) -> int:
    """Run `command` until it finishes, is stopped, or is given up; the exit status (see `statuses`).

    Args:
        command: The program and its arguments.
        policy: How often it is started again, and how soon.
        run: The run's folder, by which steps are seen.
        say: Told, in a line each, what happens.
        states: The folder for status and log; `nodes` in the run's where it is left out.
        node: Of this machine.
        draw: Spreads the waits.

    Raises:
        OSError: the command can't be run, or status and log can't be written.
    """
    folder = states or (run or Path.cwd()) / status.FOLDER
    return Supervisor(Supervised(command, run, folder, node=node, policy=policy), say, draw).run()


def asked(number: int) -> int:
    """The signal that is passed on: to be hung up asks to stop as well, but nothing saves when it is."""
    return signal.SIGTERM if number == signal.SIGHUP else number


def last_error(log: Path, begin: int = 0) -> str:
    """The end of a log, after byte `begin`, from the last line on that names an error: at most twelve lines."""
    try:
        with log.open("rb") as file:
            file.seek(max(begin, file.seek(0, 2) - ERROR_BYTES))
            lines = file.read().decode("utf-8", "replace").rstrip().splitlines()
    except OSError:
        return ""
    named = [number for number, line in enumerate(lines) if _ERROR.search(line)]
    first = named[-1] if named else max(len(lines) - 3, 0)
    return "\n".join(lines[first:][:12])


def _free(run: Path) -> bool:
    """Whether no process trains in a run's folder."""
    try:
        with (run / LOCK).open("rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # not there yet
        return True
    return True
