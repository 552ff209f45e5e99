"""What the commands that need a trainer share: the report first, and failures as one clear line."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from agentic_rl.backends.base import Trainer


def trainer_of(path: Path, overrides: list[str] | None) -> Trainer:
    """The trainer of a checked file; prints the findings, and exits with status 1 where one is an error."""
    from agentic_rl.backends import trainer_for
    from agentic_rl.config.load import load

    loaded = load(path, overrides or ())
    if loaded.report.verdict == "error":
        typer.echo(loaded.report.to_text(), err=True)
        raise typer.Exit(1)
    trainer = trainer_for(loaded)
    report = trainer.check()
    if len(report):
        typer.echo(report.to_text(), err=True)
    if report.verdict == "error":
        raise typer.Exit(1)
    return trainer


@contextlib.contextmanager
def failures_reported() -> Iterator[None]:
    """Print an expected failure as one line instead of a traceback, and exit with status 1."""
    from agentic_rl.backends.errors import TrainingError
    from agentic_rl.config.diagnostics import ConfigError

    try:
        yield
    except ConfigError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(1) from None
    except TrainingError as error:
        typer.echo(f"error {error}", err=True)
        raise typer.Exit(1) from None
