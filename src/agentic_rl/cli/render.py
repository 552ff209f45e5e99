"""`agentic-rl render`: the configuration that a backend itself reads."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agentic_rl.cli.arguments import ConfigPath, Instance, Overrides
from agentic_rl.cli.session import failures_reported, print_findings

if TYPE_CHECKING:
    from agentic_rl.config.load import Loaded

Native = Callable[[], dict[str, Any]]
Arguments = Callable[[], list[str]]


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
    *,
    backend: Annotated[Backend, typer.Option(help="Whose configuration.")] = Backend.verl,
    form: Annotated[
        Form, typer.Option("--format", help="The whole configuration, or the command line that gives it.")
    ] = Form.yaml,
    template: Annotated[
        str,
        typer.Option(
            help="The backend's own configuration that is the base; in the instances format the strategy chooses it.",
            show_default=False,
        ),
    ] = "",
    instance: Instance = "",
) -> None:
    """Print the configuration that the backend itself would read for this file, or the command that plain verl takes.

    The same file gives the same text. Nothing is started or written. Exit status 1 if the file has an error.
    """
    from agentic_rl.config.load import load

    with failures_reported():
        loaded = load(config_path, overrides or ())
        loaded.require()
        print_findings(loaded.report)
        typer.echo(_text(loaded, form, template, instance), nl=False)


def _text(loaded: Loaded, form: Form, template: str, instance: str) -> str:
    native, arguments = _of_instance(loaded, instance) if loaded.format == "aura" else _of_flat(loaded, template)
    if form is Form.overrides:
        return command(arguments())
    import yaml

    return yaml.safe_dump(native(), sort_keys=False, allow_unicode=True, width=120)


def _of_flat(loaded: Loaded, template: str) -> tuple[Native, Arguments]:
    from agentic_rl.backends import verl

    config, base = loaded.require_flat(), template or verl.TEMPLATE
    return partial(verl.render, config, template=base), partial(verl.overrides, config, template=base)


def _of_instance(loaded: Loaded, instance: str) -> tuple[Native, Arguments]:
    from agentic_rl.backends.verl.runs import run_of
    from agentic_rl.config.verl_native.installation import installed

    run = run_of(loaded, installed(), instance or None)
    return run.native, run.overrides


def command(arguments: list[str]) -> str:
    """A command for a shell, one argument a line, in the order of the mapping."""
    from shlex import quote

    return " \\\n  ".join(["python -m verl.trainer.main_ppo", *map(quote, arguments)]) + "\n"
