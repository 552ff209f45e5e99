"""The application: the commands, and training when no command is named.

Modules that a command needs are imported inside it, so that `agentic-rl --help` stays fast.
"""

from __future__ import annotations

import sys
from typing import Annotated

import typer
from typer.core import TyperGroup

from agentic_rl.cli import (
    check,
    data,
    diff,
    doctor,
    explain,
    init,
    launch,
    plan,
    render,
    schema,
    supervise,
    train,
    view,
)

OWN_OPTIONS = ("--help", "--version", "--install-completion", "--show-completion")


class TrainByDefault(TyperGroup):
    """`agentic-rl --config-path FILE` is `agentic-rl train --config-path FILE`, as the documentation spells it."""

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override]
        """Insert the command `train` before options that are not the application's own."""
        if args and args[0].startswith("-") and args[0].partition("=")[0] not in OWN_OPTIONS:
            args = ["train", *args]
        return super().parse_args(ctx, args)


app = typer.Typer(
    cls=TrainByDefault,
    name="agentic-rl",
    help="Reinforcement learning for LLM agents, from one checked YAML file.\n\n"
    "agentic-rl --config-path FILE [KEY=VALUE ...]  checks FILE and trains.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from agentic_rl._version import __version__

        typer.echo(f"agentic-rl {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Options of the application itself."""


app.command("train")(train.train)
app.command("launch")(launch.launch)
app.command("supervise")(supervise.supervise)
app.command("check")(check.check)
app.command("diff")(diff.diff)
app.command("plan")(plan.plan)
app.command("render")(render.render)
app.add_typer(data.data)
app.command("doctor")(doctor.doctor)
app.command("explain")(explain.explain)
app.command("schema")(schema.schema)
app.command("init")(init.init)
app.command("view")(view.view)


def main() -> None:
    """Run the command line. Exit status: 0 fine, 1 findings or a failed job, 2 wrong usage, 130 interrupted."""
    try:
        app()
    except KeyboardInterrupt:
        sys.exit(130)
