"""A run whose training and inference have devices of their own."""

from __future__ import annotations

import os
from collections.abc import Container, Mapping
from typing import Any

from agentic_rl.backends.verl import separate
from agentic_rl.backends.verl.assignments import Assignment
from agentic_rl.backends.verl.instances.decided import Decided
from agentic_rl.backends.verl.instances.findings import BROKEN_RUN, TRANSLATED
from agentic_rl.config.aura.schema import InferInstance

NODES = "AGENTIC_RL_INFERENCE_NODES"
"""Environment variable: how many nodes infer; `agentic-rl launch` knows it from hosts.conf."""
_SIZES = ("tensor_parallel_size", "data_parallel_size", "pipeline_parallel_size")


def apart(native: Mapping[str, Any], infer: InferInstance | None, written: Container[str]) -> Decided:
    """What changes in verl's configuration, and what is said of it.

    Args:
        native: verl's complete configuration.
        infer: the inference instance, whose sizes are those of the servers.
        written: verl's keys that a person wrote.
    """
    nodes = int(os.environ.get(NODES) or 1)
    changes = separate.settings(native, native["trainer"]["nnodes"], nodes, _servers(infer), written)
    decided = Decided([Assignment(key, value, added=True) for key, value in changes.values.items()])
    for remark in changes.notes:
        decided.say(TRANSLATED, remark.key, remark.message, remark.hint)
    for remark in changes.problems:
        decided.say(BROKEN_RUN, remark.key, remark.message, remark.hint)
    return decided


def _servers(infer: InferInstance | None) -> dict[str, Any]:
    given = infer.executor_kwargs.engine_kwargs.model_extra if infer else None
    return {name: value for name, value in (given or {}).items() if name in _SIZES}
