"""Which sandbox this machine can give, for a look at the machine before a run."""

from __future__ import annotations

import threading

from agentic_rl.agents.tools.inside.call import WEAK
from agentic_rl.agents.tools.inside.limits import Limits
from agentic_rl.agents.tools.sandbox_server import SandboxError, start
from agentic_rl.machine.observation import Observation

NAME = "sandbox"
SECONDS = 15.0
"""A trial takes about a second on a quiet machine."""


def check_sandbox(*, weak: bool = False, seconds: float = SECONDS) -> Observation:
    """Whether the tool `python` could keep the policy's code apart here, by trying it.

    Args:
        weak: whether the run allows a weak sandbox.
        seconds: after which it is unknown.
    """
    found: list[Observation] = []
    trial = threading.Thread(target=lambda: found.append(_tried(weak)), daemon=True, name="sandbox trial")
    trial.start()
    trial.join(seconds)
    return found[0] if found else Observation(NAME, "unknown", f"the trial did not end within {seconds:g} s")


def _tried(weak: bool) -> Observation:
    rule = "full, for the tool python"
    try:
        server, missing = start(Limits(), (), weak=weak)
    except (SandboxError, OSError) as error:
        return Observation(NAME, "warning", str(error), rule)
    strength = server.strength
    server.close()
    if strength == WEAK:
        return Observation(NAME, "warning", f"weak, as the run allows; missing {'; '.join(missing)}", rule)
    return Observation(NAME, "ok", f"full, by {strength}", rule)
