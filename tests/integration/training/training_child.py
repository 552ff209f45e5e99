"""What the forked processes of these tests run."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from agentic_rl.agents.task import Message, Task


def varied_reward(task: Task, messages: Sequence[Message]) -> float:
    """A reward that a random policy earns now and then, so that there is something to learn from."""
    text = str(messages[-1].get("content") or "")
    return sum(map(ord, text)) % 7 / 7 + 0.1 * task.sample * bool(text)


def prepare(output: Path) -> None:
    """One thread, a reward with variance, and standard error in a file."""
    import torch

    from agentic_rl.agents.builtin import math

    torch.set_num_threads(1)
    math.exact_answer = varied_reward
    descriptor = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(descriptor, 2)
    sys.stderr = os.fdopen(os.dup(descriptor), "w", buffering=1)


def train(config: str, folder: str, output: str, sabotage: Callable[[], None] | None = None) -> None:
    """Run the command line in `folder`; the process ends with its exit status."""
    from agentic_rl.cli import main

    prepare(Path(output))
    os.chdir(folder)
    if sabotage is not None:
        sabotage()
    sys.argv = ["agentic-rl", "--config-path", config]
    status: object = 0
    try:
        main()
    except SystemExit as end:
        status = end.code
    sys.stderr.flush()
    os._exit(status if isinstance(status, int) else 1)


def die() -> None:
    """A real kill -9 of this process."""
    os.kill(os.getpid(), signal.SIGKILL)


def before(owner: Any, name: str, call: int, action: Callable[[], None] = die) -> None:
    """Do `action` when `owner.name` is called for the `call`th time, instead of it."""
    original, seen = getattr(owner, name), []

    def replacement(*arguments: Any, **keywords: Any) -> Any:
        seen.append(None)
        if len(seen) == call:
            action()
        return original(*arguments, **keywords)

    setattr(owner, name, replacement)
