"""The part of a configuration that the local backend reads."""

from __future__ import annotations

from typing import Any

from agentic_rl.config.flat import FlatConfig, LocalSection

TRAIN_FILES, VAL_FILES, SFT_FILES = "local.train_files", "local.val_files", "local.sft_files"
OTHER_SECTIONS = {"verl", "mindspeed_rl"}


def local_section(config: FlatConfig) -> LocalSection:
    """The section `local`, which a checked configuration of this backend has.

    Raises:
        LookupError: it has none.
    """
    if config.local is None:
        raise LookupError("the configuration has no section local")
    return config.local


def resolved(config: FlatConfig) -> dict[str, Any]:
    """Every value that is in force, defaults included, as plain values; without the sections of other backends."""
    values: dict[str, Any] = config.model_dump(mode="json", exclude_none=True, exclude=OTHER_SECTIONS)
    return values


def evaluation_due(config: FlatConfig, step: int, total: int) -> bool:
    """Whether the held-out tasks are evaluated after `step`: with `test_freq` also after the last one, as in verl."""
    if step == 0:
        return config.evaluates_before_training
    frequency = local_section(config).test_freq
    return frequency > 0 and (step == total or step % frequency == 0)
