"""`agentic-rl schema flat`: the JSON Schema of a format, for editors and other programs."""

from __future__ import annotations

import json
from enum import Enum
from typing import Annotated

import typer


class Name(str, Enum):
    """The formats that have a schema."""

    flat = "flat"


def schema(name: Annotated[Name, typer.Argument(help="The format.")]) -> None:
    """Print the JSON Schema of a configuration format."""
    from agentic_rl.config.flat import json_schema

    del name  # one format so far
    typer.echo(json.dumps(json_schema(), indent=2, ensure_ascii=False))
