"""Dividing rows into training and validation, never two rows of one prompt into both."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from typing import Any


def prompt_key(messages: Sequence[Mapping[str, Any]], extra_info: Any = None) -> str:
    """What two equal prompts share: their roles and texts, blank space aside, and the seed of a game."""
    parts = [(one.get("role"), " ".join(str(one.get("content")).split())) for one in messages]
    game = (extra_info.get("environment"), extra_info.get("seed")) if isinstance(extra_info, Mapping) else ()
    return json.dumps([parts, game], default=str)


def choose(keys: Sequence[str], fraction: float, seed: int) -> set[int]:
    """The numbers of the rows that validate: about `fraction` of them, at least one and never all.

    The choice depends on the different prompts in the order of their first rows, and on the seed.
    """
    different = list(dict.fromkeys(keys))
    if fraction <= 0 or len(different) < 2:
        return set()
    count = min(max(1, round(fraction * len(different))), len(different) - 1)
    chosen = set(random.Random(f"split/{seed}").sample(different, count))  # noqa: S311 - a choice of rows, no secret
    return {number for number, key in enumerate(keys) if key in chosen}
