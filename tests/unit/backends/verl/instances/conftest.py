"""What the tests of runs of the instances format share."""

from __future__ import annotations

from copy import deepcopy
from functools import cache
from typing import Any

import pytest

from agentic_rl.backends.verl.composition import compose
from agentic_rl.backends.verl.instances import run
from agentic_rl.config.verl_native.installation import Installation


@cache
def composed(template: str, there: Installation, overrides: tuple[str, ...]) -> Any:
    return compose(template, there, list(overrides))


@pytest.fixture(autouse=True)
def composed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Copy verl's composed template: composing takes most of the time of rendering."""
    monkeypatch.setattr(run, "compose", lambda name, there, given: deepcopy(composed(name, there, tuple(given))))
