"""`agentic-rl diff A B`: which effective values of two configurations differ."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer


def diff(
    first: Annotated[Path, typer.Argument(metavar="A", help="A YAML file.", show_default=False)],
    second: Annotated[Path, typer.Argument(metavar="B", help="Another one.", show_default=False)],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Print the keys whose values differ, defaults resolved. Exit status 0 if none does, 1 if some do, 2 if unread."""
    from agentic_rl.config.comparison import compare

    comparison = compare(first, second)
    for loaded in comparison.unread:
        typer.echo(loaded.render(), err=True)
    if comparison.unread:
        raise typer.Exit(2)
    typer.echo(json.dumps(comparison.to_dict(), indent=2) if as_json else comparison.to_text())
    raise typer.Exit(1 if comparison.differences else 0)
