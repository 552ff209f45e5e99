"""Native keys that the installed verl does not have, each with the nearest ones that it has."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from agentic_rl.config.verl_native.dataclass_fields import dataclass_fields

TARGET = "_target_"
FREE_FORM = frozenset(
    {
        "actor_rollout_ref.actor.optim.override_optimizer_config",
        "actor_rollout_ref.model.override_config",
        "actor_rollout_ref.rollout.custom",
        "actor_rollout_ref.rollout.quantization",
        "critic.model.override_config",
        "critic.optim.override_optimizer_config",
        "data.custom_cls",
        "distillation.teacher_models",
        "ray_kwargs.ray_init",
        "transfer_queue",
    }
)
"""Nodes that take keys which no template shows: they are passed on as they are, to other packages."""
_OPEN_NAMES = frozenset({"engine_kwargs", "override_transformer_config", "override_ddp_config", "tool_config"})
_BUILT = ("actor_rollout_ref", "critic", "distillation")
"""Nodes whose dataclasses are built; others name one, but are read as they are."""
_MOST = 3


@dataclass(frozen=True)
class UnknownKey:
    """A key that was written and that the template lacks."""

    key: str
    """The native dotted key."""
    near: tuple[str, ...]
    """Native dotted keys that may be meant, the nearest first."""
    dataclass: str = ""
    """The dataclass that refuses the key in a worker; empty where the key is ignored without a word."""


def unknown_keys(written: Mapping[str, Any], template: Mapping[str, Any], verl: Path | None = None) -> list[UnknownKey]:
    """Compare a native tree as a person wrote it with the composed template, in the order in which it was written.

    Keys that stand in no YAML of verl but in the dataclass of their node are known; `verl` is the folder of the
    package whose source tells them. What lies below free-form nodes (`override_config`, `engine_kwargs`) is not judged.
    """
    return list(_Comparison(template, dataclass_fields(verl) if verl else {}).strangers(written, template, ""))


class _Comparison:
    def __init__(self, template: Mapping[str, Any], classes: Mapping[str, Mapping[str, str]]) -> None:
        self._all = list(_keys(template, ""))
        self._classes = classes

    def strangers(self, written: Mapping[str, Any], known: Mapping[str, Any], node: str) -> Iterator[UnknownKey]:
        target = known.get(TARGET)
        name = target.rpartition(".")[2] if isinstance(target, str) else ""
        fields = self._classes.get(name, {})
        refuses = name if name in self._classes and node.partition(".")[0] in _BUILT else ""
        for key, value in written.items():
            dotted = f"{node}.{key}" if node else str(key)
            if key not in known and key not in fields:
                yield UnknownKey(dotted, self._near(str(key), known, fields, node), refuses)
                continue
            below = known.get(key)
            if isinstance(value, Mapping) and isinstance(below, Mapping) and below and not _is_open(dotted):
                yield from self.strangers(value, below, dotted)

    def _near(self, key: str, known: Mapping[str, Any], fields: Mapping[str, Any], node: str) -> tuple[str, ...]:
        """Keys of that name elsewhere, of a like name beside it, and of a like name anywhere."""
        siblings = [str(name) for name in dict.fromkeys((*known, *fields)) if name != TARGET]
        close = get_close_matches(key, siblings, _MOST, 0.7) or [name for name in siblings if name.startswith(key)]
        alike = [f"{node}.{name}" if node else name for name in close]
        moved = [one for one in self._all if one.rpartition(".")[2] == key]
        moved.sort(key=lambda one: (-_shared(one, node), one.count("."), one))
        last = {one.rpartition(".")[2]: one for one in reversed(self._all)}
        others = [last[name] for name in get_close_matches(key, last, _MOST, 0.8)]
        return tuple(dict.fromkeys([*moved, *alike, *([] if moved or alike else others)]))[:_MOST]


def _keys(node: Mapping[str, Any], prefix: str) -> Iterator[str]:
    for key, value in node.items():
        if key != TARGET:
            yield prefix + str(key)
            if isinstance(value, Mapping):
                yield from _keys(value, f"{prefix}{key}.")


def _is_open(key: str) -> bool:
    return key in FREE_FORM or not _OPEN_NAMES.isdisjoint(key.split("."))


def _shared(one: str, node: str) -> int:
    """How many leading parts two dotted keys have in common."""
    count = 0
    for left, right in zip(one.split("."), node.split("."), strict=False):
        if left != right:
            break
        count += 1
    return count
