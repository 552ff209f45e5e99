"""What a configuration needs of the machine."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from agentic_rl.config.load import Loaded
from agentic_rl.config.memory import checkpoint_bytes
from agentic_rl.machine.network import ports_of

_RAY_SHARED_MEMORY, _SHARED_MEMORY = 8 << 30, 64 << 20
_RAY_OPEN_FILES, _OPEN_FILES = 65536, 1024


@dataclass(frozen=True)
class Needs:
    """What a run wants; without a file what any documented backend wants."""

    backend: str | None = None
    devices: int = 0
    """Accelerators of this node."""
    ports: tuple[int, ...] = ()
    folder: Path | None = None
    """Where checkpoints are written; None without a file."""
    checkpoint: int | None = None
    """Bytes of one checkpoint, where the model's size is known."""
    kept: int = 0
    """Checkpoints that are kept."""

    @classmethod
    def of(cls, loaded: Loaded) -> Needs:
        """Read them from a configuration, as far as it could be read."""
        values = loaded.values
        backend = values.get("train_backend")
        return cls(
            backend=backend,
            devices=_devices(loaded, backend),
            ports=tuple(dict.fromkeys(ports_of(loaded.document.tree))),
            folder=_folder(loaded, backend),
            checkpoint=checkpoint_bytes({**values, **loaded.facts}),
            kept=values.get("keep_checkpoints", 0),
        )

    @property
    def shared_memory(self) -> int:
        """Bytes of `/dev/shm`: 8 GiB with Ray, what a container has by default without it."""
        return _SHARED_MEMORY if self.backend == "local" else _RAY_SHARED_MEMORY

    @property
    def open_files(self) -> int:
        """Files and sockets of one process: 65,536 with Ray, as its documentation advises."""
        return _OPEN_FILES if self.backend == "local" else _RAY_OPEN_FILES


def _devices(loaded: Loaded, backend: str | None) -> int:
    kind = loaded.values.get("device")
    if backend == "local":
        return int(kind in ("gpu", "npu"))
    return 0 if backend is None or kind == "cpu" else int(loaded.values.get("num_gpus_per_node", 0))


def _folder(loaded: Loaded, backend: str | None) -> Path | None:
    if backend == "mindspeed_rl":
        path = loaded.values.get("mindspeed_rl.save_params_path")
        return Path(path) if isinstance(path, str) else None
    project, experiment = (loaded.values.get(f"{backend}.{name}") for name in ("project_name", "experiment_name"))
    return Path.cwd() / "checkpoints" / project / experiment if project and experiment else None
