"""The instances format: `agentic_ai`, `train_instances` and their kin in YAML, hosts.conf and base.conf beside it."""

from agentic_rl.config.aura.schema import AuraConfig

__all__ = ["AuraConfig"]
