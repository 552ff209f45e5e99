"""Entries of keys without effect; why is known where ARL200 is made."""

from __future__ import annotations

from agentic_rl.backends.verl.mapping.entry import Entry
from agentic_rl.config.flat.dead_keys import DEAD


def dead(key: str) -> Entry:
    """The entry of a key that ARL200 reports on verl.

    Raises:
        KeyError: it does not.
    """
    return Entry(key, "dead", note=DEAD["verl"].keys[key].reason)
