"""Values set in verl's composed configuration: what both ways to it, from our keys and from verl's own, share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agentic_rl.backends.errors import NativeConfigError
from agentic_rl.backends.verl.composition import TEMPLATE
from agentic_rl.backends.verl.hydra_text import hydra_text
from agentic_rl.backends.verl.mapping.entry import Engine

if TYPE_CHECKING:
    from omegaconf import DictConfig


@dataclass(frozen=True)
class Assignment:
    """One key of verl with the value that it gets."""

    native: str
    """verl's dotted key."""
    value: Any
    added: bool
    """Whether verl's templates lack the key."""
    origin: str = ""
    """The file's dotted key; empty where the adapter decides."""


def assigned(composed: DictConfig, given: Iterable[Assignment]) -> dict[str, Any]:
    """The whole configuration with the values of `given`, in the order of the template; `composed` is changed."""
    from omegaconf import OmegaConf

    for one in given:
        OmegaConf.update(composed, one.native, literal(one.value), force_add=one.added, merge=False)
    native: dict[str, Any] = OmegaConf.to_container(composed, resolve=True)
    return native


def arguments(template: str, given: Iterable[Assignment]) -> list[str]:
    """The arguments for `python -m verl.trainer.main_ppo` that give the same."""
    named = [] if template == TEMPLATE else [f"--config-name={template}"]
    return [*named, *(f"{'+' * one.added}{one.native}={hydra_text(literal(one.value))}" for one in given)]


def lacking(composed: DictConfig, given: Iterable[Assignment]) -> list[Assignment]:
    """Those of `given` whose key verl's configuration lacks."""
    return [one for one in given if not one.added and not has(composed, one.native)]


def refuse_lacking(composed: DictConfig, given: Iterable[Assignment]) -> None:
    """Raise where verl's configuration lacks a key.

    Raises:
        NativeConfigError: with the first one.
    """
    for one in lacking(composed, given):
        raise NativeConfigError(lacks(one.native), "install the verl that `agentic-rl explain ARL511` names")


def engine_of(composed: DictConfig) -> Engine:
    """The training engine of a template; the one for FSDP is called `dp` there."""
    return "megatron" if composed.model_engine == "megatron" else "fsdp"


def has(composed: DictConfig, key: str) -> bool:
    """Whether verl's configuration has a dotted key."""
    node: Any = composed
    *parents, name = key.split(".")
    for parent in parents:
        if parent not in node or not hasattr(node[parent], "keys"):
            return False
        node = node[parent]
    return name in node.keys()  # noqa: SIM118 - `name in node` is false where verl asks for a value (`???`)


def lacks(key: str) -> str:
    """In words."""
    return f"the installed verl has no key {key}"


def literal(value: Any) -> Any:
    """Text as it stands: in a configuration of Hydra `${` begins a reference to another key."""
    if isinstance(value, Mapping):
        return {key: literal(item) for key, item in value.items()}
    if isinstance(value, list):
        return [literal(item) for item in value]
    return value.replace("${", "\\${") if isinstance(value, str) else value
