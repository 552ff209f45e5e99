"""`agentic-rl plan`: what training would do, without doing it."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from agentic_rl.cli.arguments import FilePath, Overrides
from agentic_rl.cli.session import failures_reported, trainer_of


def plan(
    path: FilePath,
    overrides: Overrides = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Print what training would do: steps, files, processes, devices, native configuration."""
    with failures_reported():
        planned = trainer_of(path, overrides).plan()
    typer.echo(json.dumps(planned.to_dict(), indent=2) if as_json else planned.to_text())
