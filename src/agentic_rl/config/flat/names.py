"""The names of the flat format: which key stands where, and by what other names it is known."""

from __future__ import annotations

from pydantic.fields import FieldInfo

from agentic_rl.config.fields.level import Level
from agentic_rl.config.flat.extensions import UndocumentedKeys
from agentic_rl.config.flat.local import LocalSection
from agentic_rl.config.flat.mindspeed_rl import MindSpeedSection, UndocumentedMindSpeedKeys
from agentic_rl.config.flat.schema import FlatConfig
from agentic_rl.config.flat.verl import VerlSection

SECTIONS: dict[str, type[Level]] = {"verl": VerlSection, "mindspeed_rl": MindSpeedSection, "local": LocalSection}

LEVELS: dict[str, dict[str, None]] = {
    "": dict.fromkeys(name for name in FlatConfig.model_fields if name not in SECTIONS),
    **{section: dict.fromkeys(model.model_fields) for section, model in SECTIONS.items()},
}
"""Level (empty for the shared one) -> its keys, in the order of the documentation."""

ALIASES = {
    "mindspeed_rl.seq_length": "mindspeed_rl.seq_len",
    "verl.kl_loss_coef": "verl.kl_loss_coeff",
    "verl.policy_loss_mode": "verl.policy_loss_model",
    "local.kl_loss_coef": "local.kl_loss_coeff",
    "local.policy_loss_mode": "local.policy_loss_model",
}
"""Released spelling -> documented key."""

MOVED = {"mindspeed_rl.actor_rollout_dispatch_size": "actor_rollout_dispatch_size"}
"""Place in public samples -> place in the released schema."""

OLD_NAMES = {"agent_engine_wrapper": "agent_engine_wrapper_path"}

VALUE_ALIASES = {
    "verl.kl_loss_type": {"low_bar_kl": "low_var_kl"},
    "local.kl_loss_type": {"low_bar_kl": "low_var_kl"},
}
"""Key -> spelling on the documentation's page -> value."""

UNDOCUMENTED = frozenset(UndocumentedKeys.model_fields) | {
    f"mindspeed_rl.{name}" for name in UndocumentedMindSpeedKeys.model_fields
}


def dotted(level: str, name: str) -> str:
    """The dotted key of `name` at a level."""
    return f"{level}.{name}" if level else name


def model_of(level: str) -> type[Level]:
    """The model of a section, or (empty) of the shared level with all sections."""
    return SECTIONS[level] if level else FlatConfig


def field_of(level: str, name: str) -> FieldInfo:
    """The field of a key."""
    return model_of(level).model_fields[name]


def homes(name: str) -> list[str]:
    """The levels that have a key `name` (or know it by another name), the shared level first."""
    return [level for level in LEVELS if name in LEVELS[level] or dotted(level, name) in ALIASES]


def known_keys() -> list[str]:
    """The dotted names of all keys of all levels."""
    return [dotted(level, name) for level, names in LEVELS.items() for name in names]
