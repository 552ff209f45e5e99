from __future__ import annotations

import sys
import threading
from typing import Any

import pytest

from agentic_rl.agents.tools import sandbox_trial
from agentic_rl.agents.tools.sandbox_server import SandboxError
from agentic_rl.agents.tools.sandbox_trial import check_sandbox


class Started:
    def __init__(self, strength: str) -> None:
        self.strength = strength
        self.closed = False

    def close(self) -> None:
        self.closed = True


@pytest.mark.skipif(sys.platform != "linux", reason="the sandbox needs Linux")
def test_this_machine_gives_one_or_says_what_is_missing() -> None:
    found = check_sandbox(seconds=60)
    assert (found.status == "ok" and found.value.startswith("full, by ")) or "missing" in found.value


def test_a_weak_one_is_a_warning_and_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    server = Started("weak")
    monkeypatch.setattr(sandbox_trial, "start", lambda *_, weak: (server, ("with landlock: Linux 6.2",)))
    found = check_sandbox(weak=True)
    assert (found.status, found.value) == ("warning", "weak, as the run allows; missing with landlock: Linux 6.2")
    assert server.closed


def test_none_is_a_warning_with_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, weak: bool) -> None:
        raise SandboxError("missing this; write `sandbox: weak`")

    monkeypatch.setattr(sandbox_trial, "start", refuse)
    found = check_sandbox()
    assert (found.status, found.value) == ("warning", "missing this; write `sandbox: weak`")


def test_a_trial_that_does_not_end_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    done = threading.Event()

    def hang(*_: Any, weak: bool) -> None:
        done.wait(10)
        raise SandboxError

    monkeypatch.setattr(sandbox_trial, "start", hang)
    assert check_sandbox(seconds=0.05).status == "unknown"
    done.set()
