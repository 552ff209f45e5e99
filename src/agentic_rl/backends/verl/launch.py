"""Runs one job of verl: Ray, verl's task runner on it, and the watch over both."""

from __future__ import annotations

import contextlib
import dataclasses
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agentic_rl.backends.errors import NativeConfigError, StopRequestedError, TrainingError
from agentic_rl.backends.interrupts import Interrupts
from agentic_rl.backends.verl.cluster import Cluster, connected
from agentic_rl.backends.verl.demand import Demand
from agentic_rl.backends.verl.inside.job import JobOptions
from agentic_rl.backends.verl.inside.names import TRAINERS
from agentic_rl.backends.verl.messages import explained
from agentic_rl.backends.verl.reports import Reports
from agentic_rl.backends.verl.supervision import GRACE, WAIT_SECONDS, Watch, dead_actors

LOGS = "ray_logs"
"""In the run's folder: the logs of the processes of a job that failed."""


@dataclass(frozen=True)
class Job:
    """What is run."""

    native: Mapping[str, Any]
    """The complete configuration of verl."""
    options: JobOptions
    """What our classes inside verl need beyond it."""
    demand: Demand
    environment: Mapping[str, str]
    """Of every process of the job."""
    folder: Path
    """The run's."""
    start_limit: float
    """Seconds until it has to train."""


def run(job: Job, reports: Reports, interrupts: Interrupts, grace: float = GRACE) -> None:
    """Run `job` to its end; for `grace` seconds it may fail by itself after one of its processes died.

    Raises:
        NativeConfigError: agents do not run in the trainer mode.
        StopRequestedError: it was stopped, after the last whole step or before the first.
        TrainingError: it failed; the message has the first cause.
    """
    _require_mode(job.native["trainer"]["v1"]["trainer_mode"])
    with connected(job.demand, os.environ) as cluster, _logs_kept(cluster, job.folder / LOGS):
        runner = _runner(cluster.ray, job)  # Ray ends an actor to which nothing refers any more
        reference = runner.run.remote(dict(job.native), dataclasses.asdict(job.options))
        watch = Watch(job.start_limit, lambda: _deaths(cluster.ray), grace=grace)
        while True:
            done, _ = cluster.ray.wait([reference], timeout=WAIT_SECONDS)
            reports.pass_on()
            if done:
                return _finish(cluster.ray, reference)
            if reports.started and not watch.started:
                cluster.note_processes()  # the engines are up
            watch.started = reports.started
            _pass_stop_on(interrupts, job.options, started=reports.started)
            watch.check()


def _require_mode(mode: str) -> None:
    if mode not in TRAINERS:
        raise NativeConfigError(
            f"trainer.v1.trainer_mode is {mode}, in which agents do not run", f"write {' or '.join(TRAINERS)}"
        )


def _runner(ray: Any, job: Job) -> Any:
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    # On this node: its files are those that this process reads.
    here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
    remote = ray.remote(_TaskRunner).options(
        num_cpus=1, scheduling_strategy=here, runtime_env={"env_vars": dict(job.environment)}
    )
    return remote.remote()


class _TaskRunner:
    """The process from which verl runs the job."""

    def run(self, native: dict[str, Any], options: dict[str, Any]) -> None:
        from agentic_rl.backends.verl.inside.runner import run

        run(native, options)


def _finish(ray: Any, reference: Any) -> None:
    try:
        ray.get(reference)
    except StopRequestedError:
        raise
    except Exception as error:
        raise explained(error) from error


def _pass_stop_on(interrupts: Interrupts, options: JobOptions, *, started: bool) -> None:
    """Ask the job to stop after its step; before the first there is nothing to wait for."""
    if not interrupts.requested:
        return
    if not started:
        raise StopRequestedError
    Path(options.stop_file).touch()


def _deaths(ray: Any) -> dict[str, str]:
    from ray._private import state

    return dead_actors(state.actors(job_id=ray.JobID.from_hex(ray.get_runtime_context().get_job_id())))


@contextlib.contextmanager
def _logs_kept(cluster: Cluster, folder: Path) -> Iterator[None]:
    """Keep the logs of the processes where the block fails, and say where they are."""
    try:
        yield
    except TrainingError as error:
        kept = None
        with contextlib.suppress(OSError):  # a full disk, perhaps the very failure that is to be told
            kept = cluster.keep_logs(folder)
        if kept is not None:
            error.hint = f"{error.hint}; logs: {kept}" if error.hint else f"logs: {kept}"
            error.args = (error.message, error.hint)
        raise
