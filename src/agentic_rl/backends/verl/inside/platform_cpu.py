"""A platform `cpu` for verl, through verl's own registry of platforms: training without any accelerator.

verl asks its platform for a torch-like device module (`torch.cuda` elsewhere) and for the name of Ray's resource. Here
the devices are logical: Ray is started with as many `GPU` resources as the configuration names.
"""

from __future__ import annotations

import types
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from verl.plugin.platform import PlatformBase, PlatformRegistry


def _nothing(*_args: Any, **_keywords: Any) -> None:
    """There is nothing to synchronize, to empty or to profile."""


def _zero(*_args: Any, **_keywords: Any) -> int:
    return 0


def _device_module() -> types.ModuleType:
    """What verl calls as it would call `torch.cuda`; not available, so that verl skips its memory reports."""
    module: Any = types.ModuleType("agentic_rl_cpu_device")
    module.is_available = lambda: False
    module.device_count = lambda: 1
    module.current_device = lambda: torch.device("cpu")
    module.get_device_name = lambda *_: "CPU"
    module.mem_get_info = lambda *_: (0, 0)
    module.memory = types.SimpleNamespace(_set_allocator_settings=_nothing)
    for name in ("set_device", "synchronize", "empty_cache", "ipc_collect", "reset_peak_memory_stats"):
        setattr(module, name, _nothing)
    for name in ("memory_allocated", "memory_reserved", "max_memory_allocated", "max_memory_reserved"):
        setattr(module, name, _zero)
    for name in ("manual_seed", "manual_seed_all"):
        setattr(module, name, torch.manual_seed)
    module.get_rng_state, module.set_rng_state = torch.get_rng_state, torch.set_rng_state
    return module  # type: ignore[no-any-return]


@PlatformRegistry.register(platform="cpu")
class CpuPlatform(PlatformBase):
    """verl's view of a machine without accelerator; the methods are verl's."""

    device_name = "cpu"
    vendor_name = "cpu"
    device_module = _device_module()

    def is_available(self) -> bool:
        """There is always a CPU."""
        return True

    def current_device(self) -> torch.device:
        """What tensors are moved to."""
        return torch.device("cpu")

    def device_count(self) -> int:
        """One device a process."""
        return 1

    def get_device_capability(self, device_index: int = 0) -> tuple[None, None]:
        """A CPU has no compute capability."""
        return None, None

    def communication_backend_name(self) -> str:
        """The process group of torch that works between CPUs."""
        return "gloo"

    def visible_devices_envvar(self) -> str:
        """What Ray sets for its logical resource `GPU`."""
        return "CUDA_VISIBLE_DEVICES"

    def ray_resource_name(self) -> str:
        """A logical resource: Ray is started with it, the machine has none."""
        return "GPU"

    def ray_noset_envvars(self) -> list[str]:
        """Ray may set what it likes."""
        return []

    def is_ipc_supported(self) -> bool:
        """No: weights then go to the engine through shared memory."""
        return False

    @contextmanager
    def nvtx_range(self, msg: str) -> Iterator[None]:
        """No profiler marks ranges here."""
        yield

    set_device = synchronize = set_allocator_settings = empty_cache = _nothing
    profiler_start = profiler_stop = cudart = _nothing
    manual_seed = manual_seed_all = staticmethod(torch.manual_seed)
