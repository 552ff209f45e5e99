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

    Of the instances format also where the value of each documented key comes from.
    A backend that can't train here is planned for all the same. Exit status 1 if there is an error.
    """
    with failures_reported():
        trainer, report = checked_trainer(path, overrides, memory_of(device_memory), instance)
        planned = trainer.plan()
        values = trainer.loaded.provenance()
    print_findings(report)
    if as_json:
        told = {**planned.to_dict(), **({"values": [one.to_dict() for one in values]} if values else {})}
        typer.echo(json.dumps(told, indent=2))
    else:
        lines = ["", "values:", *(f"  {one.to_text()}" for one in values)] if values else []
        typer.echo("\n".join([planned.to_text(), *lines]))
    raise typer.Exit(1 if report.verdict == "error" else 0)
