"""Threads and devices, as far as they have to be settled before torch is imported."""

from __future__ import annotations

import importlib.util
import os

from agentic_rl.backends.findings import DEVICE_MISSING, PACKAGE_MISSING, finding
from agentic_rl.config.diagnostics import Finding

PACKAGES = ("torch", "transformers", "safetensors")
ENVIRONMENT = {"GOMP_SPINCOUNT": "0", "TOKENIZERS_PARALLELISM": "false"}
"""Idle OpenMP threads must not spin: on busy cores two spinning threads were measured ten times slower than one.
Tokenizers get single texts, for which their own threads are of no use."""


def prepare_threads(threads: int) -> None:
    """Set what OpenMP reads when torch is imported, and the threads of one tensor operation."""
    for name, value in ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    import torch

    torch.set_num_threads(threads)


def check_packages() -> list[Finding]:
    """What of the extra `[local]` is missing."""
    missing = [name for name in PACKAGES if importlib.util.find_spec(name) is None]
    if not missing:
        return []
    message = f"local needs the package{'s' * (len(missing) > 1)} {', '.join(missing)}"
    return [finding(PACKAGE_MISSING, "train_backend", message, "python -m pip install 'agentic-rl[local]'")]


def check_device(wanted: str) -> list[Finding]:
    """Whether a device of the kind `wanted` is there; torch is imported only to look for an accelerator."""
    if wanted in {"auto", "cpu"}:
        return []
    from agentic_rl.backends.local.policy import PolicyError, resolve_device

    try:
        resolve_device(wanted)  # type: ignore[arg-type]  # the schema allows these names only
    except PolicyError as error:
        return [finding(DEVICE_MISSING, "device", str(error), "device: auto")]
    return []
