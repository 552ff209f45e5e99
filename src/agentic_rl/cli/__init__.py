"""The command line: one file a command, no logic of its own."""

from __future__ import annotations

from agentic_rl.cli.app import main

__all__ = ["main"]
