"""Our keys and verl's: one table, from which configurations are rendered and the documentation is made.

Every key of the shared level and of the section `verl` stands in it exactly once.
"""

from __future__ import annotations

from agentic_rl.backends.verl.mapping import learning, shared, training
from agentic_rl.backends.verl.mapping.entry import (
    Engine,
    Entry,
    Fixed,
    Native,
    Reader,
    Setting,
    uses_critic,
    verl_section,
)
from agentic_rl.backends.verl.mapping.fixed import (
    AGENT_LOOP_WORKERS,
    ALWAYS,
    BY_DEVICE,
    OBJECT_STORE_BYTES,
    READERS_OF_DATA,
)

__all__ = [
    "AGENT_LOOP_WORKERS",
    "ALWAYS",
    "BY_DEVICE",
    "OBJECT_STORE_BYTES",
    "READERS_OF_DATA",
    "TABLE",
    "Engine",
    "Entry",
    "Fixed",
    "Native",
    "Reader",
    "Setting",
    "uses_critic",
    "verl_section",
]

TABLE: tuple[Entry, ...] = (
    *shared.RUN,
    *shared.INFERENCE,
    *learning.SHARED,
    *shared.OWN,
    *training.SECTION,
    *learning.SECTION,
    *shared.UNDOCUMENTED,
)
