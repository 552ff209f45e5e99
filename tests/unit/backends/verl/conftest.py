"""What the tests of the backend verl share."""

from __future__ import annotations

from copy import deepcopy

import pytest

from agentic_rl.backends.verl import rendering
from verl_doubles import composed


@pytest.fixture
def composed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Render from copies of one composed template."""
    monkeypatch.setattr(rendering, "compose", lambda template, there: deepcopy(composed(template, there)))
