import asyncio
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentic_rl.agents.tools import sandbox_server
from agentic_rl.agents.tools.sandbox import Limits, Outcome, Sandbox, SandboxError
from agentic_rl.agents.tools.sandbox_server import Server, start
from hostile_programs import ENDS_BY_ITSELF, GOES_ON

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the sandbox is made of Linux")

LIMITS = Limits(seconds=1.0, memory=512 << 20, folder_size=32 << 20, files=500, processes=8)


@pytest.fixture(scope="module", params=["namespaces", "landlock"])
def sandbox(request):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AGENTIC_RL_TEST_SECRET", "secret")
        patch.setattr(sandbox_server, "STRENGTHS", (request.param,))
        try:
            sandbox = Sandbox(LIMITS, parallel=4)
        except SandboxError as error:
            pytest.skip(str(error))
        yield sandbox
        sandbox.close()


@pytest.fixture(scope="module")
def hostile(sandbox):
    """Run every hostile program, four at a time."""

    async def everything():
        names = [*GOES_ON, *ENDS_BY_ITSELF]
        programs = {**GOES_ON, **ENDS_BY_ITSELF}
        return dict(zip(names, await asyncio.gather(*(sandbox.run(programs[name]) for name in names)), strict=True))

    return asyncio.run(everything())


def run(sandbox: Sandbox, *programs: str) -> list[Outcome]:
    async def all_of_them():
        return await asyncio.gather(*map(sandbox.run, programs))

    return asyncio.run(all_of_them())


def processes_of(sandbox: Sandbox) -> set[int]:
    return descendants(sandbox._server._process.pid)


def descendants(pid: int) -> set[int]:
    """A process and its descendants, by their numbers outside."""
    parents = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            after = stat.read_text(encoding="latin-1").rpartition(")")[2].split()
        except OSError:
            continue
        parents[int(stat.parent.name)] = int(after[1])
    found = {pid}
    while True:
        more = {child for child, parent in parents.items() if parent in found} - found
        if not more:
            return found
        found |= more


def is_idle(sandbox: Sandbox) -> bool:
    """Whether only the server is left, after the moment that the kernel needs to bury the others."""
    alone = 2 if sandbox.strength == "namespaces" else 1  # there, one watches over the other
    deadline = time.monotonic() + 5
    while len(processes_of(sandbox)) != alone and time.monotonic() < deadline:
        time.sleep(0.02)
    return len(processes_of(sandbox)) == alone


def test_a_program_prints_and_its_last_expression_is_shown(sandbox):
    assert run(sandbox, "x = 6\nprint('half', x / 2)\nx * 7")[0] == Outcome("half 3.0\n42\n")


def test_an_exception_is_told_with_the_line_that_raised_it_and_without_our_frames(sandbox):
    outcome = run(sandbox, "def f(x):\n    return 1 / x\n\nf(0)")[0]
    assert not outcome.ok
    assert "return 1 / x" in outcome.output
    assert "ZeroDivisionError: division by zero" in outcome.output
    assert "code.py" not in outcome.output


def test_nothing_is_kept_from_one_call_to_the_next(sandbox):
    run(sandbox, "x = 1; open('kept', 'w').close(); import math; math.pi = 3")
    outcome = run(sandbox, "import os, math; print(os.listdir('.'), math.pi > 3, 'x' in globals())")[0]
    assert outcome.output == "[] True False\n"


def test_files_subprocesses_and_threads_are_there_to_be_used(sandbox):
    program = """
import pathlib, subprocess, tempfile, threading
pathlib.Path('a').mkdir(); pathlib.Path('a/b').write_text('text'); pathlib.Path('a/b').rename('c')
print(pathlib.Path('c').read_text(), tempfile.NamedTemporaryFile().name.startswith('/sandbox'))
print(subprocess.run(['echo', 'hello'], capture_output=True, text=True).stdout.strip())
thread = threading.Thread(target=print, args=('thread',)); thread.start(); thread.join()
import multiprocessing
with multiprocessing.Pool(2) as pool: print(pool.map(abs, [-1, -2]))
import asyncio; asyncio.run(asyncio.sleep(0))
"""
    if sandbox.strength != "namespaces":
        pytest.skip("without namespaces there is one process and one thread")
    assert run(sandbox, program)[0] == Outcome("text True\nhello\nthread\n[1, 2]\n")


@pytest.mark.parametrize("name", ENDS_BY_ITSELF)
def test_a_program_that_tries_to_get_out_stays_in(hostile, name):
    assert "GOT OUT" not in hostile[name].output


@pytest.mark.parametrize("name", GOES_ON)
def test_a_program_without_end_is_ended_and_told_why(hostile, name):
    outcome = hostile[name]
    assert not outcome.ok
    assert outcome.problem.startswith("stopped") or "Error" in outcome.output
    assert len(outcome.output) <= LIMITS.output


def test_nothing_is_left_of_hostile_programs(hostile, sandbox):
    assert len(hostile) == len(GOES_ON) + len(ENDS_BY_ITSELF)
    assert is_idle(sandbox)
    state = Path(sandbox._server._state)
    assert not state.exists() or not list(state.iterdir())
    assert run(sandbox, "1 + 1")[0] == Outcome("2\n")


def test_a_program_without_end_ends_in_time(sandbox):
    began = time.monotonic()
    run(sandbox, GOES_ON["a fork bomb of sessions"])
    assert time.monotonic() - began < LIMITS.seconds + 2


FRAGMENTS = [
    "import os, sys, ctypes, signal, threading, gc\n",
    "x = [0]\n",
    "x *= 1000\n",
    "for _ in range(10): x = x + x\n",
    "print(x)\n",
    "os.fork()\n",
    "os.setsid()\n",
    "os.close(1)\n",
    "os.kill(os.getpid(), signal.SIGTERM)\n",
    "os.kill(0, signal.SIGINT)\n",
    "sys.exit(x)\n",
    "gc.get_objects()[0].clear()\n",
    "threading.Thread(target=os.abort).start()\n",
    "ctypes.CDLL(None).syscall(id(x) % 460, 1, 1, 1)\n",
    "def f():\n    yield\n",
    "raise KeyboardInterrupt\n",
    "try: 1 / 0\nfinally: f()\n",
    "del __builtins__\n",
    "((((\n",
    "'''",
    "\t",
]


@settings(max_examples=40, deadline=None)
@given(program=st.lists(st.sampled_from(FRAGMENTS), max_size=8).map("".join) | st.text(max_size=200))
def test_whatever_the_program_is_there_is_an_outcome_and_the_next_one_runs(sandbox, program):
    [outcome] = run(sandbox, program)
    assert len(outcome.output.encode()) <= 3 * LIMITS.output
    assert run(sandbox, "1 + 1")[0] == Outcome("2\n")


def test_processes_are_limited(sandbox):
    program = """
import os, time
count = 1
try:
    while count < 100:
        if os.fork() == 0: time.sleep(60)
        count += 1
except OSError: pass
print(count)
"""
    expected = LIMITS.processes if sandbox.strength == "namespaces" else 1
    assert run(sandbox, program)[0].output == f"{expected}\n"


def test_a_limit_of_processor_time_is_told():
    with_time = Sandbox(Limits(seconds=10, cpu_seconds=1))
    try:
        assert run(with_time, "while True: pass")[0].problem == "stopped after 1 s of processor time; make it faster"
    finally:
        with_time.close()


def test_calls_run_at_the_same_time_without_holding_the_loop(sandbox):
    async def main():
        ticks, done = 0, False

        async def tick():
            nonlocal ticks
            while not done:
                await asyncio.sleep(0.01)
                ticks += 1

        ticking = asyncio.ensure_future(tick())
        outcomes = await asyncio.gather(*(sandbox.run(f"import time; time.sleep(0.3); print({n})") for n in range(3)))
        done = True
        await ticking
        return ticks, [outcome.output for outcome in outcomes]

    ticks, outputs = asyncio.run(main())
    assert outputs == ["0\n", "1\n", "2\n"]
    assert ticks > 10


def test_a_call_that_is_given_up_leaves_no_process(sandbox):
    async def main():
        call = asyncio.ensure_future(sandbox.run("while True: pass"))
        await asyncio.sleep(0.4)
        assert len(processes_of(sandbox)) > 2
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call

    assert is_idle(sandbox)
    asyncio.run(main())
    assert is_idle(sandbox)


def test_a_killed_server_is_replaced(sandbox):
    sandbox._server._process.kill()
    sandbox._server._process.wait()
    time.sleep(0.2)
    assert run(sandbox, "1 + 1")[0] == Outcome("2\n")


def test_too_much_code_is_refused_by_its_size(sandbox):
    assert run(sandbox, "#" * 100_001)[0].problem == "the code has 100001 bytes, at most 100000 are allowed"


def test_modules_can_be_imported_before_the_first_call():
    loaded = Sandbox(LIMITS, preload=["fractions"])
    try:
        assert run(loaded, "import sys; 'fractions' in sys.modules")[0].output == "True\n"
    finally:
        loaded.close()


def test_a_module_to_preload_that_is_missing_is_an_error_at_the_start():
    with pytest.raises(SandboxError, match="no_such_module"):
        Sandbox(LIMITS, preload=["no_such_module"])


def test_closing_ends_the_server():
    server, _ = start(LIMITS, (), weak=False)
    server.close()
    assert server._process.returncode is not None
    assert not Path(server._state).exists()
    with pytest.raises(OSError, match=r"Bad file descriptor|closed"):
        server.send(0, 1)


def test_no_limit_may_be_zero():
    with pytest.raises(ValueError, match="seconds: 0 is no limit"):
        Limits(seconds=0)


def test_elsewhere_than_on_linux_the_tool_says_where_it_runs(monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(SandboxError, match="runs on Linux alone, and this is darwin"):
        start(LIMITS, (), weak=True)


def test_a_weak_sandbox_is_refused_unless_it_is_asked_for(monkeypatch, caplog):
    real = Server.__init__

    def lacking(self, strength, limits, preload):
        if strength != "weak":
            raise SandboxError("namespaces (user): Operation not permitted")
        real(self, strength, limits, preload)

    monkeypatch.setattr(Server, "__init__", lacking)
    monkeypatch.setattr(sandbox_server, "STRENGTHS", ("namespaces", "landlock"))
    with pytest.raises(SandboxError, match=r"missing with namespaces: namespaces \(user\).*AGENTIC_RL_SANDBOX=weak"):
        Sandbox(LIMITS)
    weak = Sandbox(LIMITS, weak=True)
    try:
        assert weak.strength == "weak"
        assert "weak sandbox; missing with namespaces: namespaces (user)" in caplog.text
        assert run(weak, "1 + 1")[0] == Outcome("2\n")
    finally:
        weak.close()


RUN_OF_ITS_OWN = """
import asyncio, os, sys
from agentic_rl.agents.tools import sandbox_server
sandbox_server.STRENGTHS = (sys.argv[1],)
from agentic_rl.agents.tools.sandbox import Limits, Sandbox
sandbox = Sandbox(Limits(seconds=60))
async def main():
    call = asyncio.ensure_future(sandbox.run("import time; time.sleep(60)"))
    await asyncio.sleep(0.3)
    print(sandbox._server._process.pid, sandbox._server._state, flush=True)
    await call
asyncio.run(main())
"""


def test_a_run_that_is_killed_leaves_no_process(sandbox):
    command = [sys.executable, "-c", RUN_OF_ITS_OWN, sandbox.strength]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as run_of_its_own:
        pid, state = run_of_its_own.stdout.readline().split()
        theirs = descendants(int(pid))
        assert len(theirs) >= 3
        run_of_its_own.kill()
    deadline = time.monotonic() + 5
    while (left := [one for one in theirs if Path(f"/proc/{one}").exists()]) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert left == []
    assert not Path(state).exists()


def test_a_fork_of_the_run_does_not_end_the_sandbox(sandbox):
    fork = "import os, sys; pid = os.fork()\nif pid == 0: sys.exit()\nos.waitpid(pid, 0)"
    program = RUN_OF_ITS_OWN.partition("async def")[0] + fork + "\nprint(asyncio.run(sandbox.run('6 * 7')).output)"
    command = [sys.executable, "-W", "ignore", "-c", program, sandbox.strength]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "42\n\n"
