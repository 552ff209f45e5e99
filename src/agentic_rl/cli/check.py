"""`agentic-rl check`: every finding of a file, before anything starts."""

from __future__ import annotations

from enum import Enum
from typing import Annotated

import typer

from agentic_rl.cli.arguments import FilePath, Overrides


class Format(str, Enum):
    """How a report is printed."""

    text = "text"
    json = "json"
    github = "github"


def check(
    path: FilePath,
    overrides: Overrides = None,
    form: Annotated[Format, typer.Option("--format", help="text, json, or github (annotations).")] = Format.text,
    no_files: Annotated[
        bool,
        typer.Option("--no-files", help="Leave out the files that PATH names (an editor, another machine)."),
    ] = False,
    fix_permissions: Annotated[
        bool,
        typer.Option("--fix-permissions", help="First set the documented modes on the files that PATH names."),
    ] = False,
) -> None:
    """Print every finding of a configuration. Exit status 1 if one of them is an error."""
    from agentic_rl.config.load import load

    if no_files and fix_permissions:
        raise typer.BadParameter("--fix-permissions changes the files that --no-files leaves out; give one of them")
    loaded = load(path, overrides or (), files=not no_files)
    if fix_permissions:
        for line in loaded.fix_permissions():
            typer.echo(line, err=True)
        loaded = load(path, overrides or ())
    typer.echo(loaded.render(form.value))
    raise typer.Exit(1 if loaded.report.verdict == "error" else 0)
