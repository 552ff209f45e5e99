"""The tiny projects of the other integration tests are used here, too."""

from __future__ import annotations

import sys
from pathlib import Path

for name in ("cluster", "training", "verl"):
    folder = str(Path(__file__).parents[1] / name)
    if folder not in sys.path:
        sys.path.append(folder)
