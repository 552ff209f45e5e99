"""Real verl on a CPU. Skipped where verl is not installed; the nox session integration-verl has it."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

HERE = str(Path(__file__).parent)
if HERE not in sys.path:
    sys.path.insert(0, HERE)

collect_ignore_glob = [] if find_spec("verl") else ["test_*.py"]
