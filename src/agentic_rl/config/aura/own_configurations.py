"""Configurations of verl that train instances hold themselves, in the place of a reference to `verl_conf`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from agentic_rl.config.aura.places import PlacedFindings
from agentic_rl.config.aura.reading import read, values_of
from agentic_rl.config.aura.schema import AuraConfig
from agentic_rl.config.aura.schema.verl_conf import VerlConf
from agentic_rl.config.diagnostics import Severity
from agentic_rl.config.rules import Page

_SHARED = "verl_conf"


def read_own(config: AuraConfig, lacking: set[str], findings: PlacedFindings) -> Iterator[tuple[str, dict[str, Any]]]:
    """Key of each such configuration, and its values by dotted keys, documented defaults included.

    What is wrong in it is reported under its own key.
    """
    for node, tree in _own(config, lacking, findings):
        below = _Below(findings.composed, findings.written_as, node=node)
        around = {"agentic_ai": config.agentic_ai.given(), _SHARED: tree}
        whole, broken = read(around, below)
        findings.items += below.items
        if whole.verl_conf is not None:
            yield node, dict(values_of(whole.verl_conf, {_moved(key, node) for key in broken}, f"{node}."))


def _own(config: AuraConfig, lacking: set[str], findings: PlacedFindings) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for index, instance in enumerate(config.train_instances or []):
        node = f"train_instances[{index}].executor_kwargs.train_config"
        if any(node.startswith(key) for key in lacking) or instance.executor_kwargs.train_engine != "verl":
            continue
        tree, start = instance.executor_kwargs.train_config, f"{findings.as_written(node)}."
        if tree is None or tree.keys().isdisjoint(VerlConf.model_fields):
            continue  # another engine's, which is told elsewhere
        if any(key.startswith(start) for key in findings.composed.written):
            yield node, tree


def _moved(key: str, node: str) -> str:
    return node + key[len(_SHARED) :] if key.startswith(_SHARED) else key


@dataclass
class _Below(PlacedFindings):
    """Findings about `verl_conf`, told of another node; only of what a person wrote there."""

    node: str = ""

    def add(self, page: Page, key: str, message: str, hint: str = "", severity: Severity | None = None) -> None:
        own = _moved(key, self.node)
        if self.as_written(own) in self.composed.written:
            super().add(page, own, message, hint, severity)
