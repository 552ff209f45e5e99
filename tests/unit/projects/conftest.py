"""One quickstart project for all tests of this folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentic_rl.projects import create

SEED = 5


@pytest.fixture(scope="session")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("projects") / "quickstart"
    create("quickstart", folder, seed=SEED)
    return folder
