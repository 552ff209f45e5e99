from __future__ import annotations

from typing import Any

import pytest

from agentic_rl.backends.errors import StartTimeoutError, WorkerLostError
from agentic_rl.backends.verl.supervision import GRACE, LOOK_SECONDS, Watch, dead_actors, lost

CAUSES = "Some common causes include: (1) the process was killed by the OOM killer due to high memory usage"
GONE = "Worker exit detail: Worker unexpectedly exits with a connection error code 2. End of file."


def died(message: str, reason: str = "WORKER_DIED", pid: str = "7") -> dict[str, Any]:
    """An entry of Ray's table of actors, as it shows its messages."""
    cause = f'actor_died_error_context {{\n  error_message: "{message}"\n  pid: {pid}\n  reason: {reason}\n}}\n'
    return {"ActorClassName": "WorkerDict", "Name": "", "State": "DEAD", "Pid": pid, "DeathCause": cause}


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_killed_process_is_named_with_rays_words_on_one_line() -> None:
    table = {"a": died(f"The actor is dead.\\n Worker exit type: SYSTEM_ERROR {GONE} {CAUSES}")}
    assert dead_actors(table) == {
        "WorkerDict (process 7)": f"The actor is dead.\\n Worker exit type: SYSTEM_ERROR {GONE}"
    }


@pytest.mark.parametrize(
    "death",
    [
        died("The actor is dead because it was killed by `ray.kill`.", "RAY_KILL")["DeathCause"],
        died("The actor is dead because all references to the actor were removed.", "OUT_OF_SCOPE")["DeathCause"],
        died("Worker exit type: INTENDED_USER_EXIT Worker exit detail: exit_actor() is called.")["DeathCause"],
        'creation_task_failure_context {\n  serialized_exception: "no room: reason: WORKER_DIED oom_context"\n}',
        "",
        None,
    ],
)
def test_an_actor_that_was_ended_or_failed_while_it_was_made_is_no_death(death: str | None) -> None:
    assert dead_actors({"a": {"ActorClassName": "A", "Pid": "1", "DeathCause": death}}) == {}


@pytest.mark.parametrize(
    "death",
    [
        'oom_context {\n  error_message: "killed due to memory pressure"\n}',
        died("its node has died", "NODE_DIED")["DeathCause"],
    ],
)
def test_a_lack_of_memory_and_a_lost_node_are_deaths(death: str) -> None:
    assert len(dead_actors({"a": {"Name": "storage", "DeathCause": death}})) == 1


@pytest.mark.parametrize(
    ("what", "remedy"),
    [
        ("killed due to memory pressure (OOM)", "free memory on the node"),
        (GONE, "most often the system killed it for memory"),
        ("exit code 3", "the logs of that process"),
    ],
)
def test_the_remedy_goes_with_the_death(what: str, remedy: str) -> None:
    message, hint = lost(what)
    assert message == f"a process of the job died: {what}"
    assert hint.startswith(remedy)
    assert hint.endswith("goes on from the last checkpoint")


def test_a_job_that_does_not_come_up_is_ended_at_its_limit() -> None:
    clock = Clock()
    watch = Watch(10, dict, clock)
    clock.now = 10
    watch.check()
    clock.now = 10.1
    with pytest.raises(StartTimeoutError, match="within 10 s"):
        watch.check()


def test_a_job_that_trains_has_no_limit() -> None:
    clock = Clock()
    watch = Watch(10, dict, clock)
    watch.started = True
    clock.now = 1e6
    watch.check()


def test_a_job_gets_time_to_fail_by_itself_after_a_death() -> None:
    clock, deaths = Clock(), dict[str, str]()
    watch = Watch(1e9, lambda: deaths, clock)
    watch.check()
    deaths |= {"B (process 2)": "gone", "A (process 1)": "out of memory"}
    clock.now = LOOK_SECONDS
    watch.check()
    deaths.clear()  # what was seen is remembered
    clock.now += GRACE
    watch.check()
    clock.now += LOOK_SECONDS
    with pytest.raises(WorkerLostError, match=r"A \(process 1\): out of memory; B \(process 2\): gone"):
        watch.check()


def test_ray_is_not_asked_all_the_time() -> None:
    clock, looks = Clock(), list[float]()

    def look() -> dict[str, str]:
        looks.append(clock.now)
        return {}

    watch = Watch(1e9, look, clock)
    for tick in range(9):
        clock.now = tick * LOOK_SECONDS / 4
        watch.check()
    assert looks == [0, LOOK_SECONDS, 2 * LOOK_SECONDS]
