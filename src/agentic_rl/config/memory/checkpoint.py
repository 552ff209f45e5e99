"""How large one checkpoint on the disk is, over all nodes."""

from __future__ import annotations

from agentic_rl.config.memory.lookup import Lookup
from agentic_rl.config.memory.settings import Settings

_BYTES = {
    "local": {"model": 4, "hf_model": 4, "optimizer": 8},
    "verl": {"model": 4, "hf_model": 2, "optimizer": 8},
}
"""Backend -> bytes a parameter of each item of `ckpt_content`; `extra` holds a reference model at most."""
_MEGATRON = 14
"""bfloat16 weights, their float32 copy and AdamW's moments."""


def checkpoint_bytes(values: Lookup) -> int | None:
    """Bytes of one checkpoint; None where the model's size or a value is not known."""
    settings, parameters = Settings(values), values.get("@model.parameters")
    if not isinstance(parameters, int):
        return None
    try:
        return parameters * _bytes_per_parameter(settings)
    except LookupError:
        return None


def _bytes_per_parameter(settings: Settings) -> int:
    if settings.backend == "mindspeed_rl":
        return _MEGATRON
    sizes, content = _BYTES[settings.backend], set(settings.own("ckpt_content"))
    if settings.backend == "local" and content >= {"model", "hf_model"}:
        content.remove("hf_model")  # one file serves as both
    reference = 4 if settings.backend == "local" and "extra" in content and settings.reference_model else 0
    return reference + sum(sizes.get(item, 0) for item in content)
