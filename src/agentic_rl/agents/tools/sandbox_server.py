"""Starts the sandbox's server and, before anything relies on it, sees what it really keeps out."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import select
import shutil
import socket
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Sequence
from pathlib import Path

from agentic_rl.agents.tools.inside.call import LANDLOCK, NAMESPACES, WEAK
from agentic_rl.agents.tools.inside.limits import Limits

_BOOT = "import sys; sys.path.insert(0, {!r}); from inside import server; del sys.path[0]; server.main()"
_KEPT = ("LD_LIBRARY_PATH",)
"""Variables without which some Pythons do not start. Nothing else of the environment reaches the code."""
_ENVIRONMENT = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "LANG": "C.UTF-8",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
}
STRENGTHS = (NAMESPACES, LANDLOCK)
"""What is tried, in this order."""

_START_SECONDS = 60.0
_TRIAL_SECONDS = 20.0


class SandboxError(RuntimeError):
    """This machine can't keep the policy's code apart; the message says what is missing, and what can be done."""


class Server:
    """One server process, which forks itself for each call."""

    def __init__(self, strength: str, limits: Limits, preload: Sequence[str]) -> None:
        """Start the process.

        Raises:
            SandboxError: it did not start; the message is what is missing.
        """
        self.strength = strength
        self._owner = os.getpid()
        self._state = tempfile.mkdtemp(prefix="agentic-rl-sandbox-")
        self._connection, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        options = {
            "socket": theirs.fileno(),
            "strength": strength,
            "limits": dataclasses.asdict(limits),
            "state": self._state,
            "preload": list(preload),
        }
        with theirs:
            self._process = subprocess.Popen(  # noqa: S603 - our own program, by its full path
                [sys.executable, "-I", "-B", "-c", _BOOT.format(str(Path(__file__).parent)), json.dumps(options)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={**_ENVIRONMENT, **{name: os.environ[name] for name in _KEPT if name in os.environ}},
                cwd="/",
                pass_fds=[theirs.fileno()],
                start_new_session=True,  # a terminal's Ctrl-C is for the run, which then ends the server
            )
        try:
            self._hear_that_it_started()
        except BaseException:
            self.close()
            raise

    def _hear_that_it_started(self) -> None:
        self._connection.settimeout(_START_SECONDS)
        try:
            answer = json.loads(self._connection.recv(4096) or b"{}")
        except (OSError, ValueError) as error:
            raise SandboxError(f"the sandbox's process gave no sign of life: {error}") from error
        if "ready" not in answer:
            raise SandboxError(answer.get("missing", "the sandbox's process ended while it started"))
        if self.strength == NAMESPACES:  # which has taken its place from inside, and needs the name no longer
            shutil.rmtree(self._state, ignore_errors=True)
        self._connection.setblocking(False)

    def send(self, control: int, output: int) -> None:
        """Begin a call.

        Raises:
            BlockingIOError: so many calls have just begun that the server has to catch up first.
            OSError: the server is gone.
        """
        socket.send_fds(self._connection, [b"c"], [control, output])

    def close(self) -> None:
        """End the server and every call. In a fork of the process that started it, it goes on."""
        if os.getpid() != self._owner:
            return
        self._connection.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(0.5)
        self._process.kill()
        self._process.wait()
        shutil.rmtree(self._state, ignore_errors=True)


def start(limits: Limits, preload: Sequence[str], *, weak: bool) -> tuple[Server, tuple[str, ...]]:
    """Start a server of the strongest kind that this machine allows.

    Returns:
        The server, and what is missing there for full strength: empty, unless `weak`.

    Raises:
        SandboxError: none is strong enough, and `weak` is false.
    """
    if sys.platform != "linux":
        raise SandboxError(f"the python tool runs on Linux alone, and this is {sys.platform}; leave the tool out")
    missing: list[str] = []
    for strength in STRENGTHS:
        try:
            return _started(strength, limits, preload), ()
        except SandboxError as error:  # noqa: PERF203 - two rounds
            missing.append(f"with {strength}: {error}")
    if weak:
        return Server(WEAK, limits, preload), tuple(missing)
    raise SandboxError(
        "this machine can't keep the policy's code apart; missing " + "; ".join(missing) + ". Allow one of the two "
        "(in a container: its seccomp profile), or write `sandbox: weak` in the configuration "
        "(AGENTIC_RL_SANDBOX=weak, or `Sandbox(weak=True)` in a program) and let code run with what there is"
    )


def _started(strength: str, limits: Limits, preload: Sequence[str]) -> Server:
    server = Server(strength, limits, preload)
    try:
        found = _try_out(server, limits)
    except BaseException:
        server.close()
        raise
    if found:
        server.close()
        raise SandboxError(found)
    return server


_TRIAL = """
import os, resource, signal, socket, time
problems = []
try:
    open({secret!r}).close()
    problems.append("files outside can be read")
except OSError:
    pass
try:
    open({folder!r} + "/new", "w").close()
    problems.append("files outside can be written")
except OSError:
    pass
try:
    socket.socket().close()
    problems.append("there is a network")
except OSError:
    pass
children = []
try:
    resource.setrlimit(resource.RLIMIT_NPROC, (5, 5))
    while len(children) < 5:
        child = os.fork()
        if child == 0:
            time.sleep(60)
        children.append(child)
    problems.append("processes are not counted (Linux 5.14 is needed)")
except OSError:
    pass
for child in children:
    os.kill(child, signal.SIGKILL)
with open("own", "w") as file:
    file.write("ok")
print("; ".join(problems) or open("own").read())
"""


def _try_out(server: Server, limits: Limits) -> str:
    """Return what the code could do although it should not, or why no code runs; empty if all is well."""
    with tempfile.TemporaryDirectory() as folder:
        secret = Path(folder, "secret")
        secret.write_text("secret", encoding="ascii")
        secret.chmod(0o666)  # so that it is the sandbox that keeps the code out
        Path(folder).chmod(0o777)
        said = _answer(server, _TRIAL.format(secret=str(secret), folder=folder))
    return "" if said == "ok" else textwrap.shorten(said, 300) or "code printed nothing in a trial"


def _answer(server: Server, code: str) -> str:
    """Run code and return what it printed, without an event loop."""
    control, theirs = socket.socketpair()
    output, written = os.pipe()
    try:
        with theirs:
            control.sendall(len(code).to_bytes(4, "big") + code.encode())
            server.send(theirs.fileno(), written)
        os.close(written)
        printed = _read_until_closed(output)
        control.settimeout(_TRIAL_SECONDS)
        ending = control.recv(4096).decode()
    except OSError as error:
        return f"a trial ended early: {error}"
    finally:
        control.close()
        os.close(output)
    return printed.strip() or ending.removeprefix("failed ")


def _read_until_closed(handle: int) -> str:
    text, end = b"", time.monotonic() + _TRIAL_SECONDS
    ready = select.poll()
    ready.register(handle, select.POLLIN)
    while ready.poll(1000 * max(0.0, end - time.monotonic())):
        part = os.read(handle, 65536)
        if not part:
            return text.decode("utf-8", "replace")
        text += part
    raise TimeoutError(f"no end within {_TRIAL_SECONDS:g} s")
