"""Which format a configuration is in, by its keys."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

Format = Literal["flat", "aura", "rlinf"]

_INSTANCES = frozenset(
    ("agentic_ai", "serve_conf", "direct_conf", "verl_conf", "train_instances", "agent_instances", "infer_instances")
)
_RLINF = frozenset(("cluster", "runner", "algorithm", "rollout", "actor", "data", "agentloop", "env", "critic"))
NAMES: dict[Format, str] = {"flat": "the flat format", "aura": "the instances format", "rlinf": "RLinf's format"}


def detect(keys: Iterable[str]) -> Format:
    """The format whose keys stand at the top level; `flat` where no other one is recognised."""
    present = frozenset(keys)
    if present & _INSTANCES:
        return "aura"
    if present & {"cluster", "runner"} and len(present & _RLINF) > 1:
        return "rlinf"
    return "flat"


def tell_tale(keys: Iterable[str], found: Format) -> str:
    """The first key that shows the format."""
    telling = _INSTANCES if found == "aura" else _RLINF
    return next(key for key in keys if key in telling)
