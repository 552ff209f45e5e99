"""Settings that all tests share."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# No deadline: the machines that run the tests are shared, and a slow example is not a wrong one.
settings.register_profile("fast", deadline=None, max_examples=100, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("long", settings.get_profile("fast"), max_examples=10_000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fast"))


@pytest.fixture(autouse=True, scope="session")
def _empty_current_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Runs are found below the current folder: whoever has trained in this one must not change what tests see."""
    before = Path.cwd()
    os.chdir(tmp_path_factory.mktemp("here"))
    yield
    os.chdir(before)
