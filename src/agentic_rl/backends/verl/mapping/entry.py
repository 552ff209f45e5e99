"""What the table of the mapping is made of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from agentic_rl.config.flat.schema import FlatConfig
from agentic_rl.config.flat.verl import VerlSection
from agentic_rl.config.verl_native.installation import Installation

Kind = Literal["native", "adapter", "dead"]
Engine = Literal["any", "fsdp", "megatron"]
Value = Callable[[FlatConfig], Any]

ACTOR = "actor_rollout_ref.actor"
MODEL = "actor_rollout_ref.model"
REFERENCE = "actor_rollout_ref.ref"
ROLLOUT = "actor_rollout_ref.rollout"
CRITIC = "critic"


@dataclass(frozen=True)
class Reader:
    """Where the installed verl reads a key, in the code that its V1 trainer really runs."""

    file: str
    """Below verl's package folder."""
    expression: str
    """The Python expression that reads it, as `ast.unparse` writes it."""

    def __str__(self) -> str:
        return f"{self.file}: {self.expression}"


@dataclass(frozen=True)
class Native:
    """One of verl's keys that a key of ours sets."""

    key: str
    """Dotted. Keys of the critic are set with `adv_estimator: gae` alone, but for the one that turns it off."""
    reader: Reader
    value: Value | None = None
    """What it is set to; None: the value of our key."""
    words: str = ""
    """The same in words."""
    through: tuple[str, ...] = ()
    """verl's keys that take their value from this one, where it is (also) those that are read."""
    added: bool = False
    """Whether verl's templates lack the key, though its code has it."""
    engine: Engine = "any"
    """The training engine whose template has the key."""


@dataclass(frozen=True)
class Entry:
    """One key of the flat format and what becomes of it on verl."""

    key: str
    """Dotted: `lr`, `verl.train_batch_size`."""
    kind: Kind
    """Set in verl's configuration; done by the adapter itself; without effect."""
    natives: tuple[Native, ...] = ()
    note: str = ""

    def value_of(self, config: FlatConfig, native: Native) -> Any:
        """What `native` is set to."""
        return native.value(config) if native.value else read(config, self.key)


@dataclass(frozen=True)
class Setting:
    """What values that the adapter decides depend on."""

    device: str
    """npu, gpu or cpu."""
    devices: int
    """On each node."""
    installation: Installation
    folder: Path
    """The run's folder, absolute."""
    written: frozenset[str] = frozenset()
    """verl's keys that the file sets itself."""


@dataclass(frozen=True)
class Fixed:
    """A key of verl that the adapter itself decides, and why."""

    key: str
    value: Callable[[Setting], Any]
    reason: str
    added: bool = False
    engine: Engine = "any"
    of_flat: bool = False
    """Whether it is a choice of the flat format's: a file in verl's own keys chooses itself."""


def native(key: str, *natives: Native, note: str = "") -> Entry:
    """An entry whose key is set in verl's configuration."""
    return Entry(key, "native", natives, note)


def adapter(key: str, note: str) -> Entry:
    """An entry whose key the adapter itself obeys."""
    return Entry(key, "adapter", note=note)


def read(config: FlatConfig, key: str) -> Any:
    """The value of a dotted key of ours."""
    value: Any = config
    for name in key.split("."):
        value = getattr(value, name)
    return value


def verl_section(config: FlatConfig) -> VerlSection:
    """The section `verl`.

    Raises:
        LookupError: the configuration has none.
    """
    if config.verl is None:
        raise LookupError("the configuration has no section verl")
    return config.verl


def uses_critic(config: FlatConfig) -> bool:
    """Whether a critic estimates the advantages."""
    return verl_section(config).adv_estimator == "gae"
