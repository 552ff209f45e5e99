"""`agentic-rl doctor`: whether a run can start on this machine."""

from __future__ import annotations

import json
import os
from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from agentic_rl.cli.arguments import DeviceMemory, memory_of


class Format(str, Enum):
    """How the result is printed."""

    text = "text"
    json = "json"


def doctor(
    path: Annotated[
        Path | None, typer.Argument(metavar="[PATH]", help="A YAML file: look at what it needs, too.")
    ] = None,
    form: Annotated[Format, typer.Option("--format", help="text or json.")] = Format.text,
    device_memory: DeviceMemory = "",
) -> None:
    """Look at this machine: packages, devices, network, limits, sandbox. Exit status 1 if something is an error."""
    from agentic_rl.agents.tools.sandbox_trial import check_sandbox
    from agentic_rl.config.load import load
    from agentic_rl.machine.doctor import examine

    loaded = None if path is None else load(path, device_memory=memory_of(device_memory))
    weak = loaded is not None and loaded.values.get("sandbox") == "weak"
    diagnosis = examine(os.environ, loaded, [check_sandbox(weak=weak)])
    typer.echo(json.dumps(diagnosis.to_dict(), indent=2) if form is Format.json else diagnosis.to_text())
    raise typer.Exit(1 if diagnosis.verdict == "error" else 0)
