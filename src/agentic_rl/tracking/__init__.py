"""What a run tells, and to whom: console, JSON lines, TensorBoard, a picture."""

from __future__ import annotations

from agentic_rl.tracking.base import Listeners, Phase, Tracker
from agentic_rl.tracking.console import console_tracker
from agentic_rl.tracking.json_lines import JsonLinesTracker
from agentic_rl.tracking.line_file import LineFile
from agentic_rl.tracking.log_lines import log_lines_to

__all__ = ["JsonLinesTracker", "LineFile", "Listeners", "Phase", "Tracker", "console_tracker", "log_lines_to"]
