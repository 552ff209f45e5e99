"""Looking at a run: a page of its curves, its groups of rollouts and its conversations, served or as one file."""

from __future__ import annotations

from agentic_rl.view.errors import ViewError
from agentic_rl.view.export_file import export
from agentic_rl.view.run import Run, find_run
from agentic_rl.view.schema import trajectory_schema
from agentic_rl.view.server import Server

__all__ = ["Run", "Server", "ViewError", "export", "find_run", "trajectory_schema"]
