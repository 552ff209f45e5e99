"""The tiny projects and the two nodes of the other integration tests are used here, too."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

for name in ("cluster", "training", "verl"):
    folder = str(Path(__file__).parents[1] / name)
    if folder not in sys.path:
        sys.path.append(folder)

collect_ignore = [] if find_spec("verl") else ["test_launch_on_two_nodes.py", "test_supervised_verl.py"]
