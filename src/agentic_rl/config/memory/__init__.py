"""The memory of one device: an itemised estimate from configured values and the model's sizes.

Pure functions, for `agentic-rl plan` and the rules; nothing here looks at files or at the machine.
"""

from __future__ import annotations

from agentic_rl.config.memory import fsdp, local, megatron
from agentic_rl.config.memory.checkpoint import checkpoint_bytes
from agentic_rl.config.memory.engine import engine_minimum
from agentic_rl.config.memory.estimate import Estimate, Item, Phase
from agentic_rl.config.memory.lookup import Lookup
from agentic_rl.config.memory.model import ModelSizes
from agentic_rl.config.memory.settings import Settings
from agentic_rl.config.memory.sizes import parse_size, show_size
from agentic_rl.config.rules import DEVICE_MEMORY

__all__ = [
    "DEVICE_MEMORY",
    "Estimate",
    "Item",
    "Lookup",
    "ModelSizes",
    "Phase",
    "Settings",
    "checkpoint_bytes",
    "engine_minimum",
    "estimate",
    "parse_size",
    "show_size",
    "why_no_estimate",
]


def estimate(values: Lookup) -> Estimate | None:
    """What one device holds, from values and facts by dotted key.

    None where a value or a size of the model is missing, and where nothing is trained.
    """
    model = ModelSizes.of(values)
    settings = Settings(values)
    if model is None or settings.evaluates_only:
        return None
    try:
        return Estimate(settings.backend, tuple(_items(settings, model)), _device_memory(values))
    except LookupError:  # a value that is missing or broken, which has a finding of its own
        return None


def why_no_estimate(values: Lookup) -> str:
    """What is missing where `estimate` gives None; empty where it gives one."""
    if Settings(values).evaluates_only:
        return "nothing is trained"
    missing = ModelSizes.missing(values)
    sizes = [name for name in missing if name != "parameters"]
    if sizes:
        return f"no estimate: the model's config.json does not say {', '.join(sizes)}"
    if missing:
        return "no estimate: the number of parameters of this architecture is not known"
    return "" if estimate(values) else "no estimate: a value that it needs is missing or wrong"


def _items(settings: Settings, model: ModelSizes) -> list[Item]:
    if settings.backend == "local":
        return local.items(settings, model)
    of_backend = {"verl": fsdp.items, "mindspeed_rl": megatron.items}[settings.backend]
    return of_backend(settings, model, _device_memory(settings.values))


def _device_memory(values: Lookup) -> int | None:
    """What the device has, where it is one: a CPU's memory is another matter."""
    return None if values.get("device") == "cpu" else values.get(DEVICE_MEMORY)
