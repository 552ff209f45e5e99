"""The configuration of verl that one train instance has, and where its keys stand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from agentic_rl.backends.errors import NativeConfigError
from agentic_rl.backends.verl.instances.origins import Origins
from agentic_rl.backends.verl.instances.parts import train_instance
from agentic_rl.config.aura.schema import AuraConfig, VerlConf

if TYPE_CHECKING:
    from agentic_rl.config.load import Loaded


@dataclass(frozen=True)
class Section:
    """A configuration of verl in the file."""

    conf: VerlConf
    key: str
    """Its dotted key: `verl_conf`, or that of `train_config` where that is no reference to it."""
    origins: Origins


def section_of(loaded: Loaded, config: AuraConfig, instance: str | None) -> Section:
    """The configuration of verl of a train instance.

    Raises:
        InstanceError: it is not clear which instance trains.
        NativeConfigError: there is no configuration of verl.
    """
    train, key = train_instance(config, instance)
    given = train.executor_kwargs.train_config
    composed = loaded.require_composed()
    shared = config.verl_conf
    if shared is not None and (given is None or given == composed.tree.get("verl_conf")):
        return Section(shared, "verl_conf", Origins(composed))
    if given is None:
        raise NativeConfigError(f"{key}: no train_config, and no verl_conf", "train_config: ${verl_conf}")
    return Section(VerlConf.model_validate(given), f"{key}.executor_kwargs.train_config", Origins(composed))
