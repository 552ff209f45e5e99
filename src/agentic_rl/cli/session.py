"""What the commands that need a trainer share: the report first, and failures as one clear line."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from agentic_rl.backends.base import Trainer
    from agentic_rl.config.diagnostics import Report


def checked_trainer(
    path: Path, overrides: list[str] | None, device_memory: int | None, instance: str = ""
) -> tuple[Trainer, Report]:
    """The trainer of a file, and all findings about the two: those of the trainer may be errors.

    Args:
        path: of the file.
        overrides: `key=value` each.
        device_memory: bytes of one device, where they are known.
        instance: the train instance, where a file has several.

    Raises:
        InstanceError: it is not clear which instance trains.
        ConfigError: one of the findings about the file is an error.
    """
    from agentic_rl.backends import trainer_for
    from agentic_rl.config.diagnostics import ConfigError, Report
    from agentic_rl.config.load import load

    loaded = load(path, overrides or (), device_memory=device_memory)
    if loaded.report.verdict == "error":
        raise ConfigError(loaded.report)
    trainer = trainer_for(loaded, instance or None)
    return trainer, Report([*loaded.report, *trainer.check()], loaded.report.sources)


def trainer_of(path: Path, overrides: list[str] | None, instance: str = "") -> Trainer:
    """The trainer of a checked file; prints warnings and notes.

    Raises:
        ConfigError: one of the findings is an error.
    """
    from agentic_rl.config.diagnostics import ConfigError
    from agentic_rl.machine.devices import device_memory

    trainer, report = checked_trainer(path, overrides, device_memory(), instance)
    if report.verdict == "error":
        raise ConfigError(report)
    print_findings(report)
    return trainer


def print_findings(report: Report) -> None:
    """Print the findings where they don't mix with what a command prints."""
    if len(report):
        typer.echo(report.to_text(), err=True)


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
