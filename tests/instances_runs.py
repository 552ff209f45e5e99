"""Runs of verl out of the instances format: the sound tree of `aura_trees` with changes."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

from agentic_rl.backends.verl.instances.run import InstancesRun
from agentic_rl.config.aura.validation import validate
from agentic_rl.config.diagnostics import Report
from aura_trees import SOUND, composed
from verl_doubles import installation

CONF = "verl_conf"
KWARGS = "agent_instances[0].executor_kwargs"
ENGINE = f"{KWARGS}.agent_engine_kwargs"
NAMED = {f"{CONF}.trainer.project_name": "p", f"{CONF}.trainer.experiment_name": "e", f"{CONF}.trainer.device": "gpu"}


def run(
    changes: Mapping[str, Any] | None = None,
    templates: Mapping[str, Any] | None = None,
    *,
    text: str = SOUND,
    instance: str | None = None,
    **there: Any,
) -> InstancesRun:
    """The run of the sound file with values changed by dotted key; `there` is what is installed."""
    tree = composed(text, {**(NAMED if text == SOUND else {}), **(changes or {})}, templates)
    validated = validate(tree)
    assert validated.config is not None, Report(validated.findings).to_text()
    config = validated.config
    loaded: Any = SimpleNamespace(
        format="aura",
        composed=tree,
        config=config,
        report=Report(validated.findings),
        values=validated.values,
        checked={},
        facts={},
        require_aura=lambda: config,
        require_composed=lambda: tree,
    )
    return InstancesRun(loaded, installation(**there), instance)


def said(one: InstancesRun, key: str) -> list[str]:
    """Severity, code and message of what is found at a key."""
    return [f"{found.severity} {found.code} {found.message}" for found in one.problems() if found.key == key]
