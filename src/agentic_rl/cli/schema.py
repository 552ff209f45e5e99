"""`agentic-rl schema flat`: the JSON Schema of a format, for editors and other programs."""

from __future__ import annotations

import json
from enum import Enum
from pathlib import Path
from typing import Annotated

import typer


class Name(str, Enum):
    """The formats that have a schema."""

    flat = "flat"


def schema(
    name: Annotated[Name, typer.Argument(help="The format.")],
    write: Annotated[
        bool,
        typer.Option("--write", help="Write it to flat.schema.json here, and print the line that an editor needs."),
    ] = False,
) -> None:
    """Print the JSON Schema of a configuration format, or write it."""
    from agentic_rl.config.flat import json_schema

    text = json.dumps(json_schema(), indent=2, ensure_ascii=False)
    if not write:
        typer.echo(text)
        return
    path = Path(f"{name.value}.schema.json")
    _write(path, text)
    typer.echo(f"wrote {path}; the first line of a configuration beside it:", err=True)
    typer.echo(f"# yaml-language-server: $schema=./{path}")


def _write(path: Path, text: str) -> None:
    from agentic_rl.config.writing import replace_file

    try:
        with replace_file(path) as file:
            file.write(f"{text}\n".encode())
    except OSError as error:
        typer.echo(f"error {path} can't be written: {error.strerror or error}", err=True)
        raise typer.Exit(1) from None
