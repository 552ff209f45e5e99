"""Memory of a device: what a step needs, and what the engine's share must hold (ARL280-281)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from agentic_rl.config.fields.wording import show, yaml_text
from agentic_rl.config.flat.in_force import key_of, origin
from agentic_rl.config.memory import (
    DEVICE_MEMORY,
    Lookup,
    ModelSizes,
    Phase,
    Settings,
    engine_minimum,
    estimate,
    show_size,
)
from agentic_rl.config.rules import Facts, Problem, Rule, rule

MEMORY: list[Rule] = []

_TOKENS, _SHARE = "ppo_max_token_len_per_gpu", "gpu_memory_utilization"


class Changed:
    """Facts in which one key has another value."""

    def __init__(self, facts: Lookup, key: str, value: Any) -> None:
        self._facts, self._key, self._value = facts, key, value

    def __getitem__(self, key: str, /) -> Any:
        return self._value if key == self._key else self._facts[key]

    def get(self, key: str, default: Any = None, /) -> Any:
        """The value of `key`, or `default`."""
        return self._value if key == self._key else self._facts.get(key, default)


@rule(MEMORY, "ARL280", "More memory than a device has", "warning")
def device_memory(facts: Facts) -> Iterator[Problem]:
    """The estimate of what one device holds is above 95% of its memory, so the run may stop for want of it.

    In the rollout of `verl` and `mindspeed_rl` it warns above 105%: their engine sets aside `gpu_memory_utilization` of
    the device, with a reserve for itself, and what training leaves there must find room beside that.

    The device's memory is given with `--device-memory`, or asked of `nvidia-smi` or `npu-smi` where they are there.
    `agentic-rl plan` prints the estimate line by line, with its arithmetic. For `local` it was measured to be within
    15%; for `verl` and `mindspeed_rl` it is computed from what they hold, not measured.
    """
    needed = estimate(facts)
    phase = needed.excess if needed else None
    if needed is None or phase is None:
        return
    memory, total = facts[DEVICE_MEMORY], needed.total(phase)
    largest = max((item for item in needed.items if item.phase in (phase, "always")), key=lambda item: item.bytes)
    message = f"the {phase} needs about {show_size(total)} on one device, {total / memory:.0%} of its "
    message += f"{show_size(memory)}; most of it, {show_size(largest.bytes)}, is {largest.name}"
    key = _key(facts, phase)
    message = f"with {show(facts[key])}{origin(facts, key)} {message}"
    yield Problem(key, message, _remedy(facts))


@rule(MEMORY, "ARL281", "Engine's share that holds no sequence", "warning")
def engine_share(facts: Facts) -> Iterator[Problem]:
    """The engine's share of a device must hold its weights and the KV cache of one sequence of `max_model_len` tokens.

    vLLM stops at its start when it does not. More devices for each engine (`infer_tensor_parallel_size`), a shorter
    `max_model_len`, or a larger `gpu_memory_utilization` help.
    """
    memory, share = facts[DEVICE_MEMORY], facts[_SHARE]
    model = ModelSizes.of(facts)
    if model is None or facts["train_backend"] == "local":
        return
    least = engine_minimum(Settings(facts), model)
    if least > share * memory:
        message = (
            f"{yaml_text(share)}{origin(facts, _SHARE)} of {show_size(memory)} is {show_size(share * memory)}, but "
        )
        message += f"the engine's weights and one sequence of max_model_len tokens need {show_size(least)}"
        hint = "a larger infer_tensor_parallel_size, or a smaller max_model_len"
        yield Problem(_SHARE, message, hint)


def _key(facts: Facts, phase: Phase) -> str:
    """The key that a person would change first."""
    local = facts["train_backend"] == "local"
    if phase == "rollout":
        return "max_num_seqs" if local else _SHARE
    return "mindspeed_rl.micro_batch_size" if facts["train_backend"] == "mindspeed_rl" else key_of(facts, _TOKENS)


def _remedy(facts: Facts) -> str:
    """The first single change with which the estimate fits."""
    for key, value in _changes(facts):
        changed = Changed(facts, key, value)
        needed = estimate(changed)
        if needed is not None and needed.excess is None and _engine_fits(changed):
            return f"{key.rpartition('.')[2]}: {yaml_text(value)}"
    more = "a smaller model" if facts["train_backend"] == "local" else "more devices"
    return f"no single value makes it fit; it takes {more}, see `agentic-rl plan`"


def _engine_fits(facts: Lookup) -> bool:
    model = ModelSizes.of(facts)
    if model is None or facts["train_backend"] == "local":
        return True
    return bool(engine_minimum(Settings(facts), model) <= facts[_SHARE] * facts[DEVICE_MEMORY])


def _changes(facts: Facts) -> Iterator[tuple[str, Any]]:
    """Single changes that save memory: first those that cost least."""
    backend = facts["train_backend"]
    if backend == "mindspeed_rl":
        yield from _halved(facts, "mindspeed_rl.micro_batch_size", 1)
        yield "mindspeed_rl.recompute_granularity", "full"
        switches = ("offload_train_optimizer", "offload_train_grad", "offload_train_param")
        yield from ((name, True) for name in switches)
    else:
        yield from _halved(facts, key_of(facts, _TOKENS), Settings(facts).longest_sample)
    if backend == "verl":
        yield "verl.fsdp_optimizer_offload", True
        yield "verl.fsdp_param_offload", True
    if backend == "local":
        yield key_of(facts, "entropy_from_logits_with_chunking"), True
        yield from _halved(facts, "max_num_seqs", 1)
    else:
        yield from ((_SHARE, part / 20) for part in range(int(facts[_SHARE] * 20), 3, -1))


def _halved(facts: Facts, key: str, least: int) -> Iterator[tuple[str, int]]:
    value = facts[key] // 2
    while value >= least:
        yield key, value
        value //= 2
