"""Data files: making them from what is there (`agentic-rl data prepare`), and looking at every row of them."""

from __future__ import annotations

from agentic_rl.data.checking import Checked, check_files
from agentic_rl.data.preparing import Prepared, Wishes, prepare

__all__ = ["Checked", "Prepared", "Wishes", "check_files", "prepare"]
