"""The accelerators of this machine, as their drivers' own programs list them; torch is asked in another process."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Literal

from agentic_rl.config.memory import show_size
from agentic_rl.machine.commands import NoAnswerError, ask
from agentic_rl.machine.observation import Observation

_SECONDS = 5.0
_TORCH_SECONDS = 60.0
_NVIDIA = ("nvidia-smi", "--query-gpu=name,memory.total", "--format=csv,noheader,nounits")
_ASCEND = ("npu-smi", "info")
_NPU = re.compile(r"\|\s*\d+\s+(\S+)\s*\|\s*[A-Za-z]+\s*\|[^|]*\|")
_HBM = re.compile(r"\|\s*\d+(?:\s+\d+)?\s*\|[^|]*\|.*\d+\s*/\s*(\d+)\s*\|")
_TORCH = """
import torch
try:
    import torch_npu
    print(torch.npu.device_count())
except ImportError:
    print(torch.cuda.device_count())
"""


@dataclass(frozen=True)
class Device:
    """One accelerator."""

    name: str
    memory: int
    """Bytes."""


def devices() -> list[Device]:
    """The GPUs and NPUs that `nvidia-smi` and `npu-smi` list; none where neither is installed.

    Raises:
        NoAnswerError: one of them failed.
    """
    return [*_gpus(ask(_NVIDIA, _SECONDS) or ""), *_npus(ask(_ASCEND, _SECONDS) or "")]


def accelerator() -> Literal["npu", "gpu"] | None:
    """The kind of accelerator that a driver lists; None where there is none, or it can't be asked."""
    try:
        if _npus(ask(_ASCEND, _SECONDS) or ""):
            return "npu"
        return "gpu" if _gpus(ask(_NVIDIA, _SECONDS) or "") else None
    except NoAnswerError:
        return None


def device_memory() -> int | None:
    """Bytes of the smallest accelerator; None where there is none, or it can't be asked."""
    try:
        return min((device.memory for device in devices()), default=None)
    except NoAnswerError:
        return None


def check_devices(needed: int = 0) -> tuple[Observation, int]:
    """Which accelerators there are, against those that a run needs on this node, and their number."""
    rule = f"the file needs {needed} on each node" if needed else ""
    try:
        found = devices()
    except NoAnswerError as error:
        return Observation("devices", "unknown", str(error), rule), 0
    kinds = {device: found.count(device) for device in found}
    told = ", ".join(f"{count} x {device.name} ({show_size(device.memory)})" for device, count in kinds.items())
    value = told or "none: neither nvidia-smi nor npu-smi lists any"
    if len(found) < needed:
        remedy = f"num_gpus_per_node: {len(found)}, or another machine" if found else "start it on a node with devices"
        return Observation("devices", "warning", value, rule, remedy), len(found)
    return Observation("devices", "ok", value, rule), len(found)


def check_torch_sees(listed: int) -> Observation | None:
    """Whether torch sees what the driver lists; None where there is nothing to compare."""
    if not listed or find_spec("torch") is None:
        return None
    rule = f"the driver lists {listed}"
    try:
        answer = ask((sys.executable, "-c", _TORCH), _TORCH_SECONDS)
        seen = int((answer or "").split()[-1])
    except (NoAnswerError, ValueError, IndexError) as error:
        return Observation("devices that torch sees", "unknown", str(error), rule)
    if seen == listed:
        return Observation("devices that torch sees", "ok", str(seen), rule)
    remedy = "unset CUDA_VISIBLE_DEVICES or ASCEND_RT_VISIBLE_DEVICES, or install the torch that fits the driver"
    return Observation("devices that torch sees", "warning", str(seen), rule, remedy)


def _gpus(text: str) -> list[Device]:
    """Lines `name, MiB`."""
    rows = (line.rpartition(",") for line in text.splitlines())
    return [Device(name.strip(), int(size) << 20) for name, _, size in rows if size.strip().isdigit()]


def _npus(text: str) -> list[Device]:
    """Pairs of rows of a table: number and name, then chip and (last) its memory `used / total` in MB.

    So npu-smi 23.0 to 25.2 print it; where a card has two chips, each has its pair, and its physical number follows.
    """
    found, name = [], ""
    for line in text.splitlines():
        head, memory = _NPU.fullmatch(line.strip()), _HBM.fullmatch(line.strip())
        if memory and name:
            found.append(Device(name, int(memory[1]) << 20))
        elif head:
            name = head[1]
    return found
