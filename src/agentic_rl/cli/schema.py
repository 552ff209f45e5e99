"""`agentic-rl schema NAME`: the JSON Schema of a format, for editors and other programs."""

from __future__ import annotations

import json
from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import typer


class Name(str, Enum):
    """The formats that have a schema."""

    flat = "flat"
    instances = "instances"
    trajectories = "trajectories"


def schema(
    name: Annotated[Name, typer.Argument(help="A configuration format, or a line of trajectories.jsonl.")],
    write: Annotated[
        bool,
        typer.Option("--write", help="Write it to NAME.schema.json here; for a configuration, print an editor's line."),
    ] = False,
) -> None:
    """Print the JSON Schema of a format, or write it."""
    text = json.dumps(_schema(name), indent=2, ensure_ascii=False)
    if not write:
        typer.echo(text)
        return
    path = Path(f"{name.value}.schema.json")
    _write(path, text)
    if name is Name.trajectories:
        typer.echo(f"wrote {path}")
        return
    typer.echo(f"wrote {path}; the first line of a configuration beside it:", err=True)
    typer.echo(f"# yaml-language-server: $schema=./{path}")


def _schema(name: Name) -> dict[str, Any]:
    if name is Name.flat:
        from agentic_rl.config.flat import json_schema

        return json_schema()
    if name is Name.instances:
        from agentic_rl.config.aura.json_schema import json_schema as of_instances

        return of_instances()
    from agentic_rl.view.schema import trajectory_schema

    return trajectory_schema()


def _write(path: Path, text: str) -> None:
    from agentic_rl.config.writing import replace_file

    try:
        with replace_file(path) as file:
            file.write(f"{text}\n".encode())
    except OSError as error:
        typer.echo(f"error {path} can't be written: {error.strerror or error}", err=True)
        raise typer.Exit(1) from None
