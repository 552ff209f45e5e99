"""`agentic-rl check`: every finding of one or many files, before anything starts."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Collection, Iterable
from enum import Enum
from typing import TYPE_CHECKING, Annotated

import typer

from agentic_rl.cli.arguments import DeviceMemory, memory_of

if TYPE_CHECKING:
    from agentic_rl.config.diagnostics import Finding
    from agentic_rl.config.load import Loaded
    from agentic_rl.config.selection import Choice

_OVERRIDE = re.compile(r"[^/=]+=")


class Format(str, Enum):
    """How a report is printed."""

    text = "text"
    json = "json"
    github = "github"
    sarif = "sarif"


def check(
    arguments: Annotated[
        list[str],
        typer.Argument(
            metavar="PATH... [KEY=VALUE]...",
            help="YAML files, folders of them, or - for standard input (as with --no-files); "
            "then values that win over the files, e.g. lr=1e-5 verl.nnodes=2.",
            show_default=False,
        ),
    ],
    *,
    form: Annotated[
        Format, typer.Option("--format", help="text, json, github (annotations), or sarif (code scanners).")
    ] = Format.text,
    no_files: Annotated[
        bool,
        typer.Option("--no-files", help="Leave out the files that PATH names (an editor, another machine)."),
    ] = False,
    fix_permissions: Annotated[
        bool,
        typer.Option("--fix-permissions", help="First set the documented modes on the files that PATH names."),
    ] = False,
    skip_others: Annotated[
        bool, typer.Option("--skip-others", help="Skip named files that are no configurations, as in a folder.")
    ] = False,
    backend: Annotated[
        bool,
        typer.Option("--backend", help="Ask the installed backend, too, as training does; verl takes some seconds."),
    ] = False,
    device_memory: DeviceMemory = "",
    select: Annotated[
        list[str] | None,
        typer.Option(metavar="CODES", help="Show only these codes or beginnings: ARL2,ARL306.", show_default=False),
    ] = None,
    ignore: Annotated[
        list[str] | None,
        typer.Option(metavar="CODES", help="Leave these codes or beginnings out.", show_default=False),
    ] = None,
) -> None:
    """Print every finding of configurations. Exit status 1 if one of them is an error."""
    from agentic_rl.config.batch import STDIN, Check
    from agentic_rl.config.reporting.colour import wanted

    paths, overrides = _sorted_out(arguments)
    if fix_permissions and (no_files or STDIN in paths):
        raise typer.BadParameter("--fix-permissions changes the files that --no-files leaves out; give one of them")
    if backend and (no_files or STDIN in paths):
        raise typer.BadParameter("--backend reads the files that --no-files leaves out; give one of them")
    checking = Check(
        overrides,
        device_memory=None if no_files else memory_of(device_memory),
        files=not no_files,
        skip_others=skip_others,
        typed=_choice(select or [], ignore or []),
        known=_known_codes,
        prepare=_fix if fix_permissions else lambda loaded: False,
        further=_of_backend if backend else lambda loaded: (),
    )
    batch = checking.run(paths)
    colour = wanted(sys.stdout, os.environ)
    typer.echo(batch.render(form.value, colour=colour), color=colour)
    raise typer.Exit(1 if batch.report.verdict == "error" else 0)


def _sorted_out(arguments: list[str]) -> tuple[list[str], list[str]]:
    """The paths and the overrides. What comes first is a path; so is all that has no `=`, or a `/` before it."""
    overrides = [one for one in arguments[1:] if _OVERRIDE.match(one)]
    return [one for one in arguments if one not in overrides], overrides


def _known_codes() -> Collection[str]:
    """Every code; the modules that own them are loaded only where somebody names one."""
    from agentic_rl.cli.pages import all_pages

    return all_pages()


def _choice(select: list[str], ignore: list[str]) -> Choice:
    from agentic_rl.config.selection import Choice, codes

    if not select and not ignore:
        return Choice()
    try:
        return Choice(codes(select, _known_codes()), codes(ignore, _known_codes()))
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None


def _fix(loaded: Loaded) -> bool:
    fixes = loaded.fix_permissions()
    for line in fixes:
        typer.echo(line, err=True)
    return bool(fixes)


def _of_backend(loaded: Loaded) -> Iterable[Finding]:
    """What the trainer of a configuration finds, of each where it has several."""
    from agentic_rl.backends import trainers_of

    return dict.fromkeys(found for trainer in trainers_of(loaded) for found in trainer.check())
