"""Placed values -> a typed configuration of everything that validates, and findings about what does not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from agentic_rl.config.fields.broken import Broken
from agentic_rl.config.fields.shape import shape_of
from agentic_rl.config.fields.values import judge
from agentic_rl.config.flat.findings import Findings
from agentic_rl.config.flat.names import LEVELS, SECTIONS, dotted, field_of
from agentic_rl.config.flat.placed import Placed
from agentic_rl.config.flat.schema import FlatConfig

Loc = tuple[int | str, ...]


def read(placed: Placed, findings: Findings) -> tuple[FlatConfig, set[str]]:
    """Everything that validates, and the dotted keys whose value is broken or missing.

    Pydantic gives no part of a model that failed. So a second pass leaves broken values out and puts the documented
    example where a required value is lacking; callers never look at a lacking key.
    """
    try:
        return FlatConfig.model_validate(_nested(placed.levels)), set()
    except ValidationError as error:
        errors = error.errors(include_url=False, include_context=False)
    levels = {level: dict(keys) for level, keys in placed.levels.items()}
    lacking: set[str] = set()
    for one in errors:
        level, name = _address(one["loc"])
        if one["type"] != "missing":
            _report(one["loc"], one["type"], placed, findings)
        lacking.add(dotted(level, name))
        levels[level].pop(name, None)
        if field_of(level, name).is_required():
            levels[level][name] = (field_of(level, name).examples or [None])[0]
    return FlatConfig.model_validate(_nested(levels)), lacking


def values_of(config: FlatConfig, placed: Placed, lacking: set[str]) -> dict[str, Any]:
    """Dotted key -> value of everything that did validate, defaults included."""
    models = {level: getattr(config, level) if level else config for level in placed.levels}
    return {
        dotted(level, name): getattr(model, name)
        for level, model in models.items()
        for name in LEVELS[level]
        if dotted(level, name) not in lacking
    }


def _nested(levels: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    return {**levels[""], **{section: keys for section, keys in levels.items() if section}}


def _address(loc: Loc) -> tuple[str, str]:
    first = str(loc[0])
    return (first, str(loc[1])) if first in SECTIONS else ("", first)


def _report(loc: Loc, error: str, placed: Placed, findings: Findings) -> None:
    level, name = _address(loc)
    field, key = field_of(level, name), dotted(level, name)
    value, shape = placed.levels[level][name], shape_of(field)
    default = None if field.is_required() else field.default
    for index in loc[2 if level else 1 :]:
        value, shape, default = value[index], shape.item, None
        key, name = f"{key}[{index}]", f"item {index} of {name}"
    verdict = judge(Broken(name, value, shape, error, default))
    findings.add(verdict.page, key, verdict.message, verdict.hint)
