"""Supervising real processes: scripts that leave in a folder what a training run would."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest

from agentic_rl.cluster import status
from agentic_rl.cluster.progress import look
from agentic_rl.cluster.retry import RetryPolicy
from agentic_rl.cluster.supervise import last_error, supervise

QUICK = RetryPolicy(first_wait=0.01, longest_wait=0.02)
JOB = """
import json, os, pathlib, signal, sys, time
run = pathlib.Path(sys.argv[1]); run.mkdir(parents=True, exist_ok=True)
metrics = run / "metrics.jsonl"
done = max((int(p.name.rpartition("_")[2]) for p in run.glob("global_step_*")), default=0)
starts = len(list(run.glob("start_*"))); (run / f"start_{starts}").touch()
lines = metrics.read_text().splitlines(True) if metrics.exists() else []
metrics.write_text("".join(lines[:done]))
def step(number, save=True):
    with metrics.open("a") as file:
        file.write(json.dumps({"step": number, "start": starts}) + "\\n")
    if save:
        (run / f"global_step_{number}").mkdir()
"""


class Said(list[str]):
    def __str__(self) -> str:
        return "\n".join(self)


def job(run: Path, text: str) -> list[str]:
    return [sys.executable, "-c", JOB + textwrap.dedent(text), str(run)]


def supervised(run: Path, text: str, policy: RetryPolicy = QUICK) -> tuple[int, str]:
    said = Said()
    ended = supervise(job(run, text), policy, run, said.append, draw=random.Random(0))
    return ended, str(said)


def of_supervisor(run: Path) -> status.NodeStatus:
    found = status.read(run / "nodes" / "supervisor-0.json")
    assert found is not None
    return found


def test_a_job_that_fails_goes_on_until_it_is_finished(tmp_path: Path) -> None:
    ended, said = supervised(tmp_path / "run", "step(done + 1)\nsys.exit(0 if done == 3 else 1)")
    assert ended == 0
    assert look(tmp_path / "run").step == 4
    assert said.count("starting again") == 3
    assert "the job ended with status 1 after step 1, the newest checkpoint is of step 1" in said
    assert (of_supervisor(tmp_path / "run").state, of_supervisor(tmp_path / "run").attempt) == ("finished", 3)


def test_a_job_that_is_killed_goes_on(tmp_path: Path) -> None:
    text = "step(done + 1)\nif done < 2: os.kill(os.getpid(), signal.SIGKILL)"
    ended, said = supervised(tmp_path / "run", text)
    assert ended == 0
    assert "signal 9 ended the job after step 2" in said


def test_a_crash_loop_ends_early_with_the_last_error(tmp_path: Path) -> None:
    text = "print('error the disk is full\\n    fix: make room', file=sys.stderr); sys.exit(1)"
    ended, said = supervised(tmp_path / "run", text)
    assert ended == 3
    assert "2 starts in a row made no step; the last error:\nerror the disk is full\n    fix: make room" in said
    assert of_supervisor(tmp_path / "run").state == "gave up"
    assert "the disk is full" in of_supervisor(tmp_path / "run").message


def test_steps_that_are_made_again_and_again_are_a_crash_loop_too(tmp_path: Path) -> None:
    ended, _ = supervised(tmp_path / "run", "step(1, save=False); step(2, save=False); sys.exit(1)")
    assert ended == 3
    assert len(list((tmp_path / "run").glob("start_*"))) == 3


def test_retries_that_are_used_up_say_so_to_the_scheduler(tmp_path: Path) -> None:
    policy = RetryPolicy(max_retries=2, first_wait=0.01)
    ended, said = supervised(tmp_path / "run", "step(done + 1); sys.exit(1)", policy)
    assert ended == 75
    assert "all 2 retries are used up" in said
    assert look(tmp_path / "run").step == 3


def test_a_job_that_stopped_by_itself_on_request_is_not_started_again(tmp_path: Path) -> None:
    assert supervised(tmp_path / "run", "step(1); sys.exit(130)")[0] == 130
    assert of_supervisor(tmp_path / "run").state == "stopped"


def test_children_of_the_job_end_with_it_and_others_do_not(tmp_path: Path) -> None:
    other = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    text = f"""
        import subprocess
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
        pathlib.Path({str(tmp_path / "child")!r}).write_text(str(child.pid))
        step(1)
    """
    try:
        assert supervised(tmp_path / "run", text)[0] == 0
        assert other.poll() is None
    finally:
        other.kill()
        other.wait()
    child = int((tmp_path / "child").read_text())
    assert not Path(f"/proc/{child}").exists() or "Z" in Path(f"/proc/{child}/stat").read_text()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_reaches_the_job_which_is_not_started_again(tmp_path: Path, number: signal.Signals) -> None:
    text = """
        signal.signal(signal.SIGTERM, lambda *_: (step(2), sys.exit(130)))
        signal.signal(signal.SIGINT, lambda *_: (step(2), sys.exit(130)))
        step(1)
        time.sleep(60)
    """
    run = tmp_path / "run"
    timer = threading.Timer(0, _when, args=(lambda: look(run).checkpoint == 1, number))
    timer.start()
    ended, said = supervised(run, text)
    timer.join()
    assert ended == 130
    assert look(run).checkpoint == 2, "it saved before it went"
    assert "starting again" not in said


def test_a_signal_ends_the_wait_for_the_next_start(tmp_path: Path) -> None:
    run = tmp_path / "run"
    state = run / "nodes" / "supervisor-0.json"
    timer = threading.Timer(0, _when, args=(lambda: '"waiting"' in _text(state), signal.SIGTERM))
    timer.start()
    began = time.monotonic()
    ended, _ = supervised(run, "step(done + 1); sys.exit(1)", RetryPolicy(first_wait=60))
    timer.join()
    assert ended == 130
    assert time.monotonic() - began < 30
    assert of_supervisor(run).state == "stopped"


def test_the_third_signal_kills(tmp_path: Path) -> None:
    run = tmp_path / "run"
    text = "signal.signal(signal.SIGTERM, signal.SIG_IGN)\nstep(1)\ntime.sleep(60)"

    def three() -> None:
        for _ in range(3):
            _when(lambda: look(run).checkpoint == 1, signal.SIGTERM)
            time.sleep(0.3)

    thread = threading.Thread(target=three)
    thread.start()
    assert supervised(run, text)[0] == 130
    thread.join()


def test_a_start_waits_until_the_last_one_has_let_go_of_the_folder(tmp_path: Path) -> None:
    """A job whose own child outlives it, with the run's lock."""
    text = """
        import fcntl, subprocess
        lock = (run / ".lock").open("a")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            step(99)
            sys.exit(1)
        step(done + 1)
        if done == 0:
            code = "import time; time.sleep(1)"
            subprocess.Popen([sys.executable, "-c", code], pass_fds=[lock.fileno()], start_new_session=True)
            os.kill(os.getpid(), signal.SIGKILL)
    """
    assert supervised(tmp_path / "run", text)[0] == 0
    assert look(tmp_path / "run").step == 2


def test_what_the_job_writes_is_kept_and_shown(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert supervised(tmp_path / "run", "print('step one'); step(1)")[0] == 0
    assert (tmp_path / "run" / "nodes" / "supervised-0.log").read_text() == "step one\n"
    assert capfdbinary.readouterr().out == b"step one\n"


def test_a_job_without_a_folder_is_judged_by_how_long_it_ran(tmp_path: Path) -> None:
    said: list[str] = []
    command = [sys.executable, "-c", "raise SystemExit(1)"]
    assert supervise(command, QUICK, None, said.append, states=tmp_path) == 3


@pytest.mark.parametrize(
    ("log", "shown"),
    [
        ("", ""),
        ("one\ntwo\nthree\nfour\n", "two\nthree\nfour"),
        ("error first\nfine\nerror the last\n    fix: this\n", "error the last\n    fix: this"),
        ("start\nTraceback\n  File x\nValueError: no\n", "ValueError: no"),
    ],
)
def test_the_last_error_of_a_log(tmp_path: Path, log: str, shown: str) -> None:
    (tmp_path / "log").write_text(log)
    assert last_error(tmp_path / "log") == shown


def test_errors_of_an_earlier_start_are_not_the_last_one(tmp_path: Path) -> None:
    (tmp_path / "log").write_text("error of old\nfine\n")
    assert last_error(tmp_path / "log", begin=13) == "fine"


def test_a_log_that_is_not_there_has_no_error(tmp_path: Path) -> None:
    assert last_error(tmp_path / "log") == ""


def _text(path: Path) -> str:
    return path.read_text() if path.exists() else ""


def _when(condition: object, number: signal.Signals) -> None:
    """Send this process a signal as soon as the condition holds."""
    end = time.monotonic() + 30
    while not condition() and time.monotonic() < end:  # type: ignore[operator]
        time.sleep(0.02)
    os.kill(os.getpid(), number)


def test_the_status_is_json_for_other_programs(tmp_path: Path) -> None:
    supervised(tmp_path / "run", "step(1)")
    told = json.loads((tmp_path / "run" / "nodes" / "supervisor-0.json").read_text())
    assert {"schema", "node", "part", "host", "pid", "state", "beat", "step", "exit_status", "message"} <= set(told)
