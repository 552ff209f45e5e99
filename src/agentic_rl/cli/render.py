"""`agentic-rl render`: the configuration that a backend itself reads."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agentic_rl.cli.arguments import ConfigPath, Overrides
from agentic_rl.cli.session import failures_reported, print_findings

if TYPE_CHECKING:
    from agentic_rl.config.flat import FlatConfig


class Backend(str, Enum):
    """The backends that have a configuration of their own."""

    verl = "verl"


class Form(str, Enum):
    """How it is printed."""

    yaml = "yaml"
    overrides = "overrides"


def render(
    config_path: ConfigPath,
    overrides: Overrides = None,
    backend: Annotated[Backend, typer.Option(help="Whose configuration.")] = Backend.verl,
    form: Annotated[
        Form, typer.Option("--format", help="The whole configuration, or the command line that gives it.")
    ] = Form.yaml,
    template: Annotated[
        str, typer.Option(help="The backend's own configuration that is the base.", show_default=False)
    ] = "",
) -> None:
    """Print the configuration that the backend itself would read for this file, or the command that plain verl takes.

    The same file gives the same text. Nothing is started or written. Exit status 1 if the file has an error.
    """
    from agentic_rl.config.load import load

    with failures_reported():
        loaded = load(config_path, overrides or ())
        config = loaded.require()
        print_findings(loaded.report)
        typer.echo(_text(config, form, template), nl=False)


def _text(config: FlatConfig, form: Form, template: str) -> str:
    from agentic_rl.backends import verl

    chosen: dict[str, Any] = {"template": template} if template else {}
    if form is Form.overrides:
        return command(verl.overrides(config, **chosen))
    import yaml

    return yaml.safe_dump(verl.render(config, **chosen), sort_keys=False, allow_unicode=True, width=120)


def command(arguments: list[str]) -> str:
    """A command for a shell, one argument a line, in the order of the mapping."""
    from shlex import quote

    return " \\\n  ".join(["python -m verl.trainer.main_ppo", *map(quote, arguments)]) + "\n"
