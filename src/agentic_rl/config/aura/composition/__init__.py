"""Composition of a file of the instances format: templates, overrides, references. Bad input gives findings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from agentic_rl.config.aura.composition.composed import Composed, Origin
from agentic_rl.config.aura.composition.composing import Composition
from agentic_rl.config.aura.composition.item_overrides import override_items
from agentic_rl.config.source import Document

__all__ = ["Composed", "Origin", "compose"]


def compose(document: Document, overrides: Sequence[str] = (), environ: Mapping[str, str] | None = None) -> Composed:
    """Put the templates that `defaults` names, overrides and references into a file's values.

    Hydra is imported only where a template has to be composed.

    Args:
        document: The file.
        overrides: `key=value` each, items of lists by number (`train_instances.0.name=A`); they win over the
            environment, which wins over the file.
        environ: The environment.
    """
    environ = environ or {}
    return Composition(document, override_items(document.tree, overrides, environ), environ).composed()
