"""What the sandbox says where the kernel really refuses something: a filter in a process of its own stands for it."""

import json
import os
import subprocess
import sys

import pytest

from agentic_rl.agents.tools.inside import kernel, landlock, seccomp

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or not seccomp.known_machine(),
    reason="needs Linux on a known processor",
)

UNSHARE = {"x86_64": 272, "aarch64": 97}
LANDLOCK = 444
MOUNT = {"x86_64": 165, "aarch64": 40}

PROGRAM = '''
import asyncio, errno, json, logging, os, struct, sys, time
from agentic_rl.agents.tools.inside import kernel
refused, weak, no_filters = json.loads(sys.argv[1])
PRCTL = {"x86_64": 157, "aarch64": 167}
def op(code, value, yes=0, no=0): return struct.pack("=HBBI", code, yes, no, value)
code = [op(0x20, 0)]
if no_filters: code += [op(0x15, PRCTL[os.uname().machine], 0, 3), op(0x20, 16), op(0x15, 22, 0, 1), op(0x06, 0x50016)]
if no_filters: code += [op(0x20, 0)]
for number in refused: code += [op(0x15, number, 0, 1), op(0x06, 0x50000 | errno.EPERM)]
kernel.gain_nothing_from_programs()
kernel.filter_system_calls(b"".join([*code, op(0x06, 0x7FFF0000)]))
from agentic_rl.agents.tools.sandbox import Limits, Sandbox, SandboxError
BOMB = """
import os, time
for _ in range(20):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0: time.sleep(60)
        os._exit(0)
time.sleep(60)
"""
logging.basicConfig(stream=sys.stdout, format="%(message)s")
try:
    sandbox = Sandbox(Limits(seconds=1), weak=weak)
except SandboxError as error:
    print("refused:", error)
else:
    print("strength:", sandbox.strength)
    print(asyncio.run(sandbox.run("6 * 7")).output)
    print(asyncio.run(sandbox.run(BOMB)).ok)
    server = sandbox._server._process.pid
    time.sleep(0.5)  # the kernel buries them a moment later
    print("left:", os.popen(f"ps -o pid= --ppid {server}").read().split())
'''


def where_refused(*numbers: int, weak: bool = False, no_filters: bool = False) -> str:
    command = [sys.executable, "-c", PROGRAM, json.dumps([numbers, weak, no_filters])]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout


def test_without_namespaces_landlock_takes_their_place_or_both_are_named():
    said = where_refused(UNSHARE[os.uname().machine])
    if "strength" in said:
        assert landlock.version() >= landlock.ENOUGH
        assert said == "strength: landlock\n42\n\nFalse\nleft: []\n"
    else:
        assert "missing with namespaces: namespaces (user, mount, pid, network, ipc, uts): unshare" in said
        assert "; with landlock: " in said


def test_a_mount_that_is_refused_is_named():
    said = where_refused(MOUNT[os.uname().machine], LANDLOCK)
    assert said.startswith("refused: this machine can't keep the policy's code apart; missing with namespaces: mount")


def test_without_namespaces_and_landlock_the_tool_refuses_and_names_both():
    said = where_refused(UNSHARE[os.uname().machine], LANDLOCK)
    assert "with namespaces: namespaces (user" in said
    assert "with landlock: Landlock: version 0 of its interface, 3 (Linux 6.2) is needed" in said
    assert "or write `sandbox: weak` in the configuration (AGENTIC_RL_SANDBOX=weak" in said


def test_a_weak_one_runs_where_it_is_asked_for_and_says_what_is_missing():
    said = where_refused(UNSHARE[os.uname().machine], LANDLOCK, weak=True)
    assert said.startswith("the python tool runs code in a weak sandbox; missing with namespaces: namespaces (user")
    assert "strength: weak\n42\n" in said


def test_even_without_filters_of_calls_a_weak_one_ends_every_process_of_a_call():
    said = where_refused(UNSHARE[os.uname().machine], LANDLOCK, weak=True, no_filters=True)
    assert "strength: weak\n42\n" in said
    assert said.endswith("\nFalse\nleft: []\n")


def test_an_unknown_system_call_is_an_error_with_its_name():
    with pytest.raises(OSError, match="no such call: Function not implemented"):
        kernel.syscall(100_000, "no such call")
