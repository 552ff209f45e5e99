"""What the files of a configuration say, read cheaply and without torch: facts for rules, and findings of their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agentic_rl.config.artifacts import checkpoints, machine, megatron, mindspeed_data, model, searching, tasks
from agentic_rl.config.artifacts.repeated import Repeated
from agentic_rl.config.artifacts.result import Artifacts, Reader, Request
from agentic_rl.config.secure_paths import CheckedPath

__all__ = ["Artifacts", "Reader", "Request", "read", "repeated"]

READERS: tuple[Reader, ...] = (
    model.read,
    tasks.read,
    mindspeed_data.read,
    megatron.read,
    checkpoints.read,
    machine.read,
    searching.read,
)
"""Each reads one kind of file, in this order; a later one finds the facts of those before it in its request."""


def repeated() -> tuple[Reader, ...]:
    """Readers for a run over many configurations: what these share is read once."""
    return tuple(Repeated(reader) for reader in READERS)


def read(
    values: Mapping[str, Any],
    checked: Mapping[str, CheckedPath],
    environ: Mapping[str, str],
    readers: Sequence[Reader] = READERS,
) -> Artifacts:
    """Read the files of the chosen backend that passed the path policy, and what the environment says."""
    whole = Artifacts()
    for reader in readers:
        part = reader(Request(values, checked, environ, whole.facts))
        whole.facts.update(part.facts)
        whole.findings += part.findings
    return whole
