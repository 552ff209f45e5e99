"""`agentic-rl plan`: what training would do, without doing it."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from agentic_rl.cli.arguments import DeviceMemory, FilePath, Instance, Overrides, memory_of
from agentic_rl.cli.session import checked_trainer, failures_reported, print_findings


def plan(
    path: FilePath,
    overrides: Overrides = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    device_memory: DeviceMemory = "",
    instance: Instance = "",
) -> None:
    """Print what training would do: steps, files, processes, devices, memory, native configuration.

    A backend that can't train here is planned for all the same. Exit status 1 if there is an error.
    """
    with failures_reported():
        trainer, report = checked_trainer(path, overrides, memory_of(device_memory), instance)
        planned = trainer.plan()
    print_findings(report)
    typer.echo(json.dumps(planned.to_dict(), indent=2) if as_json else planned.to_text())
    raise typer.Exit(1 if report.verdict == "error" else 0)
