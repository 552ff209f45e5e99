from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from agentic_rl.config.memory import Estimate, estimate
from memory_doubles import values_of


@pytest.fixture
def of() -> Callable[..., Estimate]:
    """The estimate of a backend's smallest configuration with changes."""

    def make(backend: str, **changes: Any) -> Estimate:
        facts = {f"@{key[3:]}": changes.pop(key) for key in list(changes) if key.startswith("at_")}
        made = estimate(values_of(backend, **changes) | {key.replace("__", "."): v for key, v in facts.items()})
        assert made is not None
        return made

    return make
