"""From the file's verl configuration to assignments in verl's own template."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from agentic_rl.backends.verl.assignments import Assignment, has
from agentic_rl.backends.verl.instances.origins import Origins

if TYPE_CHECKING:
    from omegaconf import DictConfig

ENGINES = {"megatron": "megatron", "fsdp": "dp", "fsdp2": "dp", "veomni": "veomni"}
"""`actor.strategy` -> the name of verl's training engine."""
DEVICES = {"npu": "npu", "gpu": "cuda", "cuda": "cuda", "cpu": "cpu"}
"""The format's word for a kind of device -> verl's."""
NOT_OF_VERL = ("extras",)
"""Keys of the section that are the format's own."""
_OF_TEMPLATES = ("model_engine", "_target_")
"""Keys that go with the template itself."""


def file_assignments(tree: Mapping[str, Any], section: str, origins: Origins, composed: DictConfig) -> list[Assignment]:
    """What the file says, and documented defaults, as far as they are not what verl's template gives anyway.

    Values that a person wrote are set whatever they are. A value that a template of the file's brought counts where
    verl's own template has another plain one: those that verl's own refers to other keys for follow the file's keys.

    Args:
        tree: `VerlConf.native()`.
        section: the dotted key of it in the file.
        origins: of the file.
        composed: verl's template.
    """
    from omegaconf import OmegaConf

    template: Mapping[str, Any] = OmegaConf.to_container(composed)
    return [
        Assignment(key, value, not has(composed, key), f"{section}.{key}")
        for key, value in leaves(tree)
        if key.partition(".")[0] not in NOT_OF_VERL
        and (origins.wrote(f"{section}.{key}") or _adds(key, value, template, origins.kind(f"{section}.{key}")))
    ]


def leaves(tree: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Dotted key and value of everything that is no mapping, or an empty one."""
    for name, value in tree.items():
        key = f"{prefix}{name}"
        if isinstance(value, Mapping) and value:
            yield from leaves(value, f"{key}.")
        else:
            yield key, value


def _adds(key: str, value: Any, template: Mapping[str, Any], kind: str) -> bool:
    """Whether a value that nobody wrote says something that verl's template does not."""
    known, given = _at(template, key)
    if not known or value is None or key.rpartition(".")[2] in _OF_TEMPLATES or isinstance(value, Mapping):
        return False
    refers = isinstance(given, str) and "${" in given
    return bool(given != value) and (kind == "default" or not refers)


def _at(tree: Mapping[str, Any], key: str) -> tuple[bool, Any]:
    node: Any = tree
    for name in key.split("."):
        if not isinstance(node, Mapping) or name not in node:
            return False, None
        node = node[name]
    return True, node
