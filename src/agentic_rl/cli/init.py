"""`agentic-rl init NAME DIR`: a complete project to start from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def init(
    name: Annotated[str, typer.Argument(help="The kind of project: quickstart, or instances.")],
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A new or empty folder.")],
    seed: Annotated[int, typer.Option(min=0, help="Seeds the model's weights and the data.")] = 0,
) -> None:
    """Write a complete project: configurations and what they need, README."""
    from agentic_rl.projects import NAMES, ProjectError, create, next_step

    if name not in NAMES:
        raise typer.BadParameter(f"no project is called {name!r}; there is: {', '.join(NAMES)}")
    try:
        written = create(name, folder, seed=seed)
    except ProjectError as error:
        typer.echo(f"error {error}", err=True)
        raise typer.Exit(1) from None
    typer.echo(f"{len(written)} files in {folder}. {next_step(name, folder)}")
