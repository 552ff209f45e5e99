"""Child processes side by side: logs, statuses, signals, and that none is left behind."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest

from agentic_rl.cluster.children import Command, Ended, run_all
from agentic_rl.cluster.parent import PARENT, end_with_own_parent


def command(folder: Path, name: str, program: str, **environment: str) -> Command:
    return Command(name, [sys.executable, "-c", textwrap.dedent(program)], folder / f"{name}.log", environment)


def run(*commands: Command, grace: float = 5.0) -> tuple[list[Ended], str, list[str]]:
    """How they ended, what was printed of them, and what was said."""
    out, said = io.BytesIO(), list[str]()
    return run_all(commands, said.append, out, grace=grace), out.getvalue().decode(), said


def alive(number: int) -> bool:
    """Whether a process runs, and is not merely waiting to be taken leave of."""
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def wait_for(path: Path) -> str:
    for _ in range(200):
        if path.exists() and (text := path.read_text()):
            return text
        time.sleep(0.05)
    raise AssertionError(f"{path} did not come")


def test_one_command_is_printed_as_it_writes(tmp_path: Path) -> None:
    ended, out, said = run(
        command(tmp_path / "new", "A", "import sys; print('to\\rone'); print('two', file=sys.stderr)")
    )
    assert [one.status for one in ended] == [0]
    assert sorted(out.splitlines()) == ["one", "to", "two"]
    log = tmp_path / "new" / "A.log"
    assert sorted(log.read_text().splitlines()) == ["one", "to", "two"]
    assert log.stat().st_mode & 0o777 == 0o640
    assert said == [f"A: started, log {log}", "A: finished"]


def test_several_run_at_the_same_time_and_are_told_apart(tmp_path: Path) -> None:
    meet = """
        import os, pathlib, time
        pathlib.Path(os.environ["MINE"]).touch()
        while not pathlib.Path(os.environ["OTHER"]).exists():
            time.sleep(0.01)
        print("met")
    """
    one, two = str(tmp_path / "one"), str(tmp_path / "two")
    ended, out, _ = run(
        command(tmp_path, "A", meet, MINE=one, OTHER=two), command(tmp_path, "B", meet, MINE=two, OTHER=one)
    )
    assert [one.status for one in ended] == [0, 0]
    assert sorted(out.splitlines()) == ["[A] met", "[B] met"]


def test_each_has_its_status_and_a_failure_does_not_end_the_others(tmp_path: Path) -> None:
    ended, out, said = run(
        command(tmp_path, "A", "raise SystemExit(3)"),
        command(tmp_path, "B", "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"),
        command(tmp_path, "C", "import time; time.sleep(0.5); print('done')"),
    )
    assert {one.command.name: one.status for one in ended} == {"A": 3, "B": 137, "C": 0}
    assert out == "[C] done\n"
    assert f"A: ended with status 3, see {tmp_path / 'A.log'}" in said


def test_a_log_is_appended_to(tmp_path: Path) -> None:
    for _ in range(2):
        _, out, _ = run(command(tmp_path, "A", "print('x')"))
        assert out == "x\n"
    assert (tmp_path / "A.log").read_text() == "x\nx\n"


def test_processes_that_a_command_leaves_are_ended(tmp_path: Path) -> None:
    leave = "import subprocess, sys; print(subprocess.Popen(['sleep', '600']).pid)"
    ended, out, _ = run(command(tmp_path, "A", leave))
    assert ended[0].status == 0
    assert not alive(int(out))


def test_a_process_that_does_not_heed_is_killed(tmp_path: Path) -> None:
    stubborn = """
        import subprocess
        program = "trap '' TERM; echo; while :; do sleep 600; done"
        child = subprocess.Popen(["sh", "-c", program], stdout=subprocess.PIPE)
        child.stdout.readline()
        print(child.pid)
    """
    _, out, _ = run(command(tmp_path, "A", stubborn), grace=0.3)
    assert not alive(int(out))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_is_passed_on(tmp_path: Path, number: signal.Signals) -> None:
    heed = f"""
        import signal, sys, time, pathlib
        signal.signal({int(number)}, lambda *_: sys.exit(7))
        pathlib.Path({str(tmp_path / "up")!r}).write_text("up")
        time.sleep(600)
    """

    def send() -> None:
        wait_for(tmp_path / "up")
        os.kill(os.getpid(), number)

    before = signal.getsignal(number)
    threading.Thread(target=send).start()
    ended, _, _ = run(command(tmp_path, "A", heed))
    assert [one.status for one in ended] == [7]
    assert signal.getsignal(number) is before


def test_after_the_second_signal_a_command_has_the_grace_and_no_more(tmp_path: Path) -> None:
    ignore = f"""
        import signal, time, pathlib
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        pathlib.Path({str(tmp_path / "up")!r}).write_text("up")
        time.sleep(600)
    """

    def send() -> None:
        wait_for(tmp_path / "up")
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(0.3)
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=send).start()
    ended, _, _ = run(command(tmp_path, "A", ignore), grace=0.3)
    assert [one.status for one in ended] == [137]


def test_where_one_can_not_be_started_none_is_left(tmp_path: Path) -> None:
    pid = str(tmp_path / "pid")
    sleep = f"import os, pathlib, time; pathlib.Path({pid!r}).write_text(str(os.getpid())); time.sleep(600)"
    first = command(tmp_path, "A", sleep)
    (tmp_path / "B.log").mkdir()
    with pytest.raises(OSError, match=r"B\.log"):
        run(first, command(tmp_path, "B", ""))
    if (tmp_path / "pid").exists():
        assert not alive(int((tmp_path / "pid").read_text()))


def test_what_is_printed_nobody_need_read(tmp_path: Path) -> None:
    class Closed(io.BytesIO):
        def write(self, chunk: object, /) -> int:
            raise BrokenPipeError

    ended = run_all([command(tmp_path, "A", "print('x')")], lambda line: None, Closed())
    assert [one.status for one in ended] == [0]
    assert (tmp_path / "A.log").read_text() == "x\n"


@pytest.mark.parametrize("end", ["end_with_parent", "end_with_own_parent"])
def test_when_we_are_killed_the_job_ends_with_all_its_processes(tmp_path: Path, end: str) -> None:
    job = f"""
        import os, pathlib, subprocess, time, signal
        from agentic_rl.cluster import parent
        signal.signal(signal.SIGTERM, lambda *_: None)  # does not heed
        parent.end_with_parent.__defaults__ = (0.2,)
        parent.{end}()
        other = subprocess.Popen(["sleep", "600"])
        pathlib.Path({str(tmp_path / "pids")!r}).write_text(f"{{os.getpid()}} {{other.pid}}")
        time.sleep(600)
    """
    runner = f"""
        import sys, pathlib
        from agentic_rl.cluster.children import Command, run_all
        job = Command("A", [sys.executable, "-c", {textwrap.dedent(job)!r}], pathlib.Path({str(tmp_path / "A.log")!r}))
        run_all([job], print, sys.stdout.buffer)
    """
    process = subprocess.Popen([sys.executable, "-c", textwrap.dedent(runner)], stdout=subprocess.DEVNULL)
    numbers = [int(one) for one in wait_for(tmp_path / "pids").split()]
    process.kill()
    process.wait()
    for _ in range(100):
        if not any(map(alive, numbers)):
            return
        time.sleep(0.1)
    raise AssertionError(f"left behind: {[one for one in numbers if alive(one)]}")


def test_only_the_own_parent_is_watched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PARENT, str(os.getpid()))  # as a shell in between leaves it
    before = threading.active_count()
    end_with_own_parent()
    assert threading.active_count() == before
