"""Jobs on a real Ray whose task runner is a small class of the test instead of verl's."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from agentic_rl.backends import errors
from agentic_rl.backends.errors import JobFailedError, StartTimeoutError, StopRequestedError, WorkerLostError
from agentic_rl.backends.interrupts import Interrupts
from agentic_rl.backends.verl import launch
from agentic_rl.backends.verl.cluster import Cluster, connected
from agentic_rl.backends.verl.demand import Demand
from agentic_rl.backends.verl.inside.job import JobOptions
from agentic_rl.backends.verl.launch import Job, _logs_kept
from agentic_rl.backends.verl.reports import Reports
from agentic_rl.tracking import Listeners

pytestmark = [pytest.mark.verl, pytest.mark.skipif(find_spec("ray") is None, reason="Ray is not installed")]
DEMAND = Demand("cpu", 1, 1)
OURS = [
    kind
    for kind in vars(errors).values()
    if isinstance(kind, type) and issubclass(kind, errors.TrainingError) and kind is not errors.TrainingError
]
Run = Callable[..., Reports]


def native(mode: str = "sync") -> dict[str, Any]:
    return {"text": "x", "trainer": {"v1": {"trainer_mode": mode}}}


@pytest.fixture(scope="module")
def ray() -> Iterator[Any]:
    with connected(DEMAND, {}) as cluster:
        yield cluster.ray


@pytest.fixture
def run(ray: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run `work(ray, native, options)` in the place of verl."""

    def start(work: Callable[..., None], *, limit: float = 60, stop: bool = False, grace: float = 1) -> Reports:
        class Runner:
            def run(self, native: dict[str, Any], options: dict[str, Any]) -> None:
                import ray

                work(ray, native, options)

        monkeypatch.setattr(launch, "_TaskRunner", Runner)
        options = JobOptions(0.5, 1, stepwise=False, stop_file=str(tmp_path / ".stop"), events=str(tmp_path / "events"))
        job = Job(native(), options, DEMAND, {"OF_THE_JOB": "1"}, tmp_path, limit)
        interrupts = Interrupts()
        interrupts.requested = stop
        reports = Reports(tmp_path / "metrics", tmp_path / "events", Listeners([]))
        launch.run(job, reports, interrupts, grace)
        return reports

    return start


def test_a_job_gets_its_configuration_and_its_last_report_arrives(run: Run) -> None:
    expected = native()

    def work(ray: Any, given: dict[str, Any], options: dict[str, Any]) -> None:
        assert given == expected
        assert os.environ["OF_THE_JOB"] == "1"
        with open(options["events"].replace("events", "metrics"), "w") as file:  # noqa: PTH123
            file.write('{"step": 4, "data": {"actor/lr": 0.5}}\n')

    reports = run(work)
    assert (reports.step, reports.newest) == (4, {"policy/lr": 0.5})


def test_a_mode_in_which_agents_do_not_run_is_refused_before_anything_starts(tmp_path: Path) -> None:
    options = JobOptions(0.5, 1, stepwise=False, stop_file="", events="")
    job = Job(native("colocate_async"), options, Demand("cpu", 1, 2), {}, tmp_path, 60)
    with pytest.raises(errors.NativeConfigError, match="trainer_mode is colocate_async") as caught:
        launch.run(job, Reports(tmp_path / "metrics", tmp_path / "events", Listeners([])), Interrupts())
    assert caught.value.hint == "write sync or separate_async"


@pytest.mark.parametrize("where", ["call", "constructor"])
def test_an_error_in_a_nested_process_is_told_by_its_first_cause(run: Run, where: str) -> None:
    def work(ray: Any, native: dict[str, Any], options: dict[str, Any]) -> None:
        class Inner:
            def __init__(self, where: str) -> None:
                if where == "constructor":
                    raise ValueError("too\nsmall")

            def call(self) -> None:
                raise ValueError("too\nsmall")

        ray.get(ray.remote(Inner).remote(where).call.remote())

    with pytest.raises(JobFailedError, match=r"^verl failed: ValueError: too small"):
        run(work)


def test_an_error_that_cannot_be_sent_is_told_too(run: Run) -> None:
    def work(ray: Any, native: dict[str, Any], options: dict[str, Any]) -> None:
        import threading

        class LockedError(Exception):
            def __init__(self) -> None:
                super().__init__("it holds a lock")
                self.lock = threading.Lock()

        raise LockedError

    with pytest.raises(JobFailedError, match=r"LockedError: it holds a lock"):
        run(work)


@pytest.mark.parametrize("kind", OURS, ids=[kind.__name__ for kind in OURS])
def test_our_errors_come_back_as_they_were_raised(run: Run, kind: type[errors.TrainingError]) -> None:
    def work(ray: Any, native: dict[str, Any], options: dict[str, Any]) -> None:
        raise kind("the rule", "the remedy")

    with pytest.raises(kind) as caught:
        run(work)
    assert type(caught.value) is kind
    assert str(caught.value) == "the rule\n    fix: the remedy"


def test_a_killed_process_ends_a_job_that_would_hang(run: Run) -> None:
    def work(ray: Any, native: dict[str, Any], options: dict[str, Any]) -> None:
        class Worker:
            def process(self) -> int:
                return os.getpid()

        worker = ray.remote(Worker).remote()
        os.kill(ray.get(worker.process.remote()), 9)
        time.sleep(300)

    began = time.monotonic()
    with pytest.raises(WorkerLostError, match=r"a process of the job died: .*Worker \(process \d+\): .*End of file"):
        run(work)
    assert time.monotonic() - began < 20


def test_a_killed_task_runner_is_a_lost_process(run: Run) -> None:
    def work(ray: Any, native: dict[str, Any], options: dict[str, Any]) -> None:
        os.kill(os.getpid(), 9)

    with pytest.raises(WorkerLostError, match=r"Runner \(process \d+\)"):
        run(work)


def test_a_job_that_does_not_begin_is_ended(run: Run) -> None:
    with pytest.raises(StartTimeoutError, match="within 2 s"):
        run(lambda *_: time.sleep(300), limit=2)


def test_a_stop_before_the_first_step_needs_no_step(run: Run) -> None:
    with pytest.raises(StopRequestedError) as caught:
        run(lambda *_: time.sleep(300), stop=True)
    assert caught.value.step is None


def test_a_stop_while_it_trains_is_passed_on(run: Run, tmp_path: Path) -> None:
    def work(ray: Any, native: dict[str, Any], options: dict[str, Any]) -> None:
        from agentic_rl.backends.errors import StopRequestedError

        while not os.path.exists(options["stop_file"]):  # noqa: PTH110
            time.sleep(0.05)
        raise StopRequestedError(7)

    (tmp_path / "events").write_text('{"begins": true}\n')
    with pytest.raises(StopRequestedError) as caught:
        run(work, stop=True)
    assert caught.value.step == 7


@pytest.mark.parametrize("room", [True, False])
def test_logs_are_kept_and_never_hide_the_failure(tmp_path: Path, room: bool) -> None:
    (tmp_path / "session" / "logs").mkdir(parents=True)
    (tmp_path / "file").touch()
    folder = tmp_path / "kept" if room else tmp_path / "file" / "below"
    with pytest.raises(JobFailedError) as caught, _logs_kept(Cluster(None, tmp_path / "session"), folder):
        raise JobFailedError("it failed", "look")
    assert caught.value.hint == (f"look; logs: {folder}" if room else "look")
