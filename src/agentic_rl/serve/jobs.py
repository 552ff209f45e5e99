"""Training jobs: each a child process that trains one train instance, as direct mode runs them."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import secrets
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Literal

from agentic_rl.cluster.direct import ENTRYPOINT
from agentic_rl.config.writing import make_folder, replace_file
from agentic_rl.rollout.gateway.faults import ApiError
from agentic_rl.serve.metrics import Metrics
from agentic_rl.serve.process import Process
from agentic_rl.serve.settings import Settings, Train

_LOGGER = logging.getLogger(__name__)
State = Literal["waiting", "running", "succeeded", "failed", "cancelled", "lost"]
GOES_ON = frozenset({"waiting", "running"})
_CANNOT_RUN = 126


@dataclass(frozen=True)
class Job:
    """A job as it stands."""

    id: str
    instance: str
    overrides: tuple[str, ...]
    submitted: float
    """Seconds since 1970, as all times here."""
    state: State = "waiting"
    started: float | None = None
    ended: float | None = None
    exit_status: int | None = None
    error: str | None = None
    """Why it could not be started."""


Command = Callable[[Train, Sequence[str]], list[str]]
Placed = Callable[[Train], None]


@dataclass
class Jobs:
    """The jobs of a service, those of earlier ones with the same `log_dir` included.

    Args:
        settings: of the service.
        metrics: of the service.
        command: what is run for a job.
        place: waits until a cluster has what a train instance asks for, in a thread; raises RuntimeError if it has not.
    """

    settings: Settings
    metrics: Metrics
    command: Command
    place: Placed
    _jobs: dict[str, Job] = field(default_factory=dict)
    _processes: dict[str, Process] = field(default_factory=dict)
    _tasks: dict[str, asyncio.Task[None]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Find the jobs of earlier services; what they left running is not ours to watch."""
        for path in sorted(self.folder.glob("*.json")):
            try:
                read = json.loads(path.read_bytes())
                job = Job(**{**read, "overrides": tuple(read["overrides"])})
            except (OSError, ValueError, TypeError, KeyError) as error:
                _LOGGER.warning("%s can't be read: %s", path, error)
                continue
            self._jobs[job.id] = replace(job, state="lost") if job.state in GOES_ON else job

    @property
    def folder(self) -> Path:
        """Where what is known of jobs and their logs are."""
        return Path(self.settings.log_dir).absolute() / "jobs"

    def log(self, job: Job) -> Path:
        """The file of a job's output."""
        return self.folder / f"{job.id}.log"

    def all(self) -> list[Job]:
        """The jobs, the newest first."""
        return sorted(self._jobs.values(), key=lambda job: job.submitted, reverse=True)

    def get(self, job_id: str) -> Job:
        """One job.

        Raises:
            ApiError: there is none.
        """
        if job_id not in self._jobs:
            raise ApiError(404, f"there is no job {job_id[:100]!r}", param="job_id", code="job_not_found")
        return self._jobs[job_id]

    def train(self, job: Job) -> Train | None:
        """The instance that a job trains; None where the configuration has it no more."""
        return next((one for one in self.settings.trains if one.name == job.instance), None)

    def submit(self, train: Train, overrides: Sequence[str]) -> Job:
        """Start a job.

        Raises:
            ApiError: one of this instance runs already, and the two would write to the same folder.
        """
        for other in self._jobs.values():
            if other.instance == train.name and other.state in GOES_ON:
                raise ApiError(409, f"job {other.id} trains {train.name!r} already; cancel it first", code="job_runs")
        job_id = f"{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(3)}"
        job = Job(job_id, train.name, tuple(overrides), time.time())
        self._keep(job)
        self._tasks[job.id] = asyncio.ensure_future(self._run(job, train))
        return job

    async def cancel(self, job: Job) -> Job:
        """End a job, which first may write a checkpoint; return it as it stands then.

        Raises:
            ApiError: it has ended.
        """
        if job.state not in GOES_ON:
            raise ApiError(409, f"job {job.id} has ended: {job.state}", code="job_ended")
        self._keep(replace(self._jobs[job.id], state="cancelled"))
        process = self._processes.get(job.id)
        if process is not None:
            await process.end()
        else:
            self._tasks[job.id].cancel()
        await asyncio.wait((self._tasks[job.id],))
        return self._jobs[job.id]

    async def close(self) -> None:
        """Cancel what runs."""
        running = [job for job in self._jobs.values() if job.state in GOES_ON]
        await asyncio.gather(*(self.cancel(job) for job in running))

    async def _run(self, job: Job, train: Train) -> None:
        try:
            await asyncio.to_thread(self.place, train)
            process = self._start(job, train)
        except (RuntimeError, ValueError, OSError) as error:
            self._ended(job, _CANNOT_RUN, str(error))
            return
        with self.metrics.jobs_running.labels(train.name).track_inprogress():
            status = await process.wait()
        del self._processes[job.id]
        self._ended(job, status)

    def _start(self, job: Job, train: Train) -> Process:
        level = self.settings.log_level
        names = ("VERL_LOGGING_LEVEL", "VLLM_LOGGING_LEVEL")
        environment = {name: os.environ.get(name, level) for name in names}
        process = Process(self.command(train, job.overrides), self.log(job), environment)
        self._processes[job.id] = process
        self._keep(replace(self._jobs[job.id], state="running", started=time.time()))
        return process

    def _ended(self, job: Job, status: int, error: str | None = None) -> None:
        state: State = "succeeded" if status == 0 else "failed"
        if self._jobs[job.id].state == "cancelled":
            state = "cancelled"
        self._keep(replace(self._jobs[job.id], state=state, ended=time.time(), exit_status=status, error=error))
        self.metrics.jobs.labels(job.instance, state).inc()

    def _keep(self, job: Job) -> None:
        self._jobs[job.id] = job
        try:
            make_folder(self.folder)
            with replace_file(self.folder / f"{job.id}.json") as file:
                file.write(json.dumps(asdict(job)).encode())
        except OSError as error:
            _LOGGER.warning("job %s is not kept: %s", job.id, error)


def command_for(settings: Settings) -> Command:
    """What direct mode runs for a train instance."""

    def command(train: Train, overrides: Sequence[str]) -> list[str]:
        own = [sys.executable, "-m", ENTRYPOINT, settings.config_path, "--instance", train.name]
        return [*own, *settings.overrides, *overrides]

    return command
