"""The batches of a run in one table: devices, data-parallel ranks, and every batch in prompts and samples."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from agentic_rl.config.fields.wording import show
from agentic_rl.config.rules import Facts

KEYS: Mapping[str, Mapping[str, str]] = {
    "verl": {
        "nodes": "verl.nnodes",
        "devices_per_node": "num_gpus_per_node",
        "inference_tensor": "infer_tensor_parallel_size",
        "group": "rollout_n",
        "batch": "verl.train_batch_size",
        "mini": "verl.ppo_mini_batch_size",
        "validation": "verl.val_batch_size",
    },
    "mindspeed_rl": {
        "nodes": "num_node",
        "devices_per_node": "num_gpus_per_node",
        "tensor": "mindspeed_rl.tensor_model_parallel_size",
        "pipeline": "mindspeed_rl.pipeline_model_parallel_size",
        "inference_tensor": "infer_tensor_parallel_size",
        "group": "rollout_n",
        "batch": "mindspeed_rl.global_batch_size",
        "mini": "mindspeed_rl.mini_batch_size",
        "micro": "mindspeed_rl.micro_batch_size",
        "dispatch": "actor_rollout_dispatch_size",
    },
    "local": {
        "group": "rollout_n",
        "batch": "local.train_batch_size",
        "mini": "local.ppo_mini_batch_size",
        "validation": "local.val_batch_size",
    },
}
"""Backend -> field of `Layout` -> the dotted key that sets it."""

_DERIVED_MINI = 16
"""`ppo_mini_batch_size` is the smaller of this and `train_batch_size` where nobody writes it."""


@dataclass(frozen=True)
class Layout:
    """How a training step is cut up. Sizes of batches are prompts, unless they say samples."""

    backend: str
    group: int
    """Samples of one prompt."""
    batch: int
    written_mini: int | None = None
    """The mini batch; None derives it from the batch."""
    nodes: int = 1
    devices_per_node: int = 1
    tensor: int = 1
    """Devices that share a layer in training; 1 on verl, whose FSDP makes a rank of each device."""
    pipeline: int = 1
    inference_tensor: int = 1
    micro: int | None = None
    """Samples of one forward pass on one rank; None where a micro batch is filled by tokens."""
    dispatch: int | None = None
    """Samples handed to an inference engine at once; None derives it."""
    validation: int | None = None

    @property
    def mini(self) -> int:
        """The mini batch that the backend runs with."""
        return min(_DERIVED_MINI, self.batch) if self.written_mini is None else self.written_mini

    @property
    def devices(self) -> int:
        """Devices of all nodes together."""
        return self.nodes * self.devices_per_node

    @property
    def ranks(self) -> int:
        """Data-parallel ranks in training; 0 where tensor and pipeline parallelism do not divide the devices."""
        ranks, rest = divmod(self.devices, self.tensor * self.pipeline)
        return 0 if rest else ranks

    @property
    def engines(self) -> int:
        """Inference engines that fit the devices; MindSpeed-RL leaves the devices over that fill none."""
        return self.devices // self.inference_tensor


def layout_of(facts: Facts) -> Layout:
    """The layout that the values give.

    Raises:
        MissingFactError: a value is absent or broken.
    """
    backend = facts["train_backend"]
    values = {field: facts[key] for field, key in KEYS[backend].items()}
    mini = values.pop("mini")
    derived = backend != "mindspeed_rl" and not facts.wrote(KEYS[backend]["mini"])
    return Layout(backend, **values, written_mini=None if derived else mini)


def table(layout: Layout) -> list[str]:
    """Every batch of `layout`, one a line below what it is divided by."""
    header = ("", "prompts", "samples", *_splits(layout))
    rows = [header, *_rows(layout)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(header))]
    lines = [_head(layout)]
    for name, *cells in rows:
        numbers = [cell.rjust(width) for cell, width in zip(cells, widths[1:], strict=True)]
        lines.append("  ".join([name.ljust(widths[0]), *numbers]).rstrip())
    return lines


def _head(layout: Layout) -> str:
    if layout.backend == "local":
        return f"1 device; rollout_n {layout.group}"
    cut = f" of TP {show(layout.tensor)} x PP {show(layout.pipeline)}" if layout.backend == "mindspeed_rl" else ""
    ranks = f"{_count(layout.ranks, 'data-parallel rank')}{cut}" if layout.ranks else f"no whole ranks{cut}"
    devices = f"{_count(layout.devices, 'device')} ({show(layout.nodes)} x {show(layout.devices_per_node)})"
    engines = f"{_count(layout.engines, 'inference engine')} of TP {show(layout.inference_tensor)}"
    return f"{devices}: {ranks}, {engines}; rollout_n {layout.group}"


def _splits(layout: Layout) -> dict[str, int]:
    """Heading -> number of parts."""
    if layout.backend == "mindspeed_rl":
        return {"on each rank": layout.ranks, "on each engine": layout.engines}
    return {"on each rank": layout.ranks}


def _rows(layout: Layout) -> list[tuple[str, ...]]:
    keys = {field: key.rpartition(".")[2] for field, key in KEYS[layout.backend].items()}
    parts = list(_splits(layout).values())
    nothing = "-"
    rows = [_prompts(keys["batch"], layout.batch, layout.group, parts)]
    # Only the batch of a step is spread over the engines; a mini batch is a matter of training.
    rows.append((*_prompts(keys["mini"], layout.mini, layout.group, parts[:1]), *[nothing] * (len(parts) - 1)))
    if layout.micro is not None:
        rows.append((keys["micro"], nothing, nothing, _count(layout.micro, "sample"), nothing))
    if layout.dispatch is not None:
        rows.append((keys["dispatch"], nothing, nothing, nothing, _count(layout.dispatch, "sample")))
    if layout.validation is not None:
        rows.append((keys["validation"], show(layout.validation), show(layout.validation), nothing))
    return rows


def _prompts(name: str, prompts: int, group: int, parts: list[int]) -> tuple[str, ...]:
    samples = prompts * group
    cells = [f"{_share(prompts, part)} = {_share(samples, part, 'sample')}" if part else "-" for part in parts]
    return (name, show(prompts), show(samples), *cells)


def _share(number: int, parts: int, unit: str = "prompt") -> str:
    whole, rest = divmod(number, parts)
    return f"{number / parts:.2f} {unit}s" if rest else _count(whole, unit)


def _count(number: int, unit: str) -> str:
    return f"{show(number)} {unit}" if number == 1 else f"{show(number)} {unit}s"
