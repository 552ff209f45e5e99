"""The random states of a process, for agents and tools that draw from the global generators."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import torch


def capture() -> dict[str, Any]:
    """The states of Python's, numpy's, torch's and, where they are used, the CUDA generators.

    Made of what `torch.load(weights_only=True)` reads: no objects of numpy.
    """
    kind, keys, *rest = np.random.get_state()
    numpy_state = (kind, torch.from_numpy(np.asarray(keys).astype(np.int64)), *rest)
    states = {"python": random.getstate(), "numpy": numpy_state, "torch": torch.get_rng_state()}
    if torch.cuda.is_available() and torch.cuda.is_initialized():
        states["cuda"] = torch.cuda.get_rng_state_all()
    return states


def restore(states: dict[str, Any]) -> None:
    """Go back to captured states. CUDA's are left alone where the number of devices has changed."""
    random.setstate(states["python"])
    kind, keys, *rest = states["numpy"]
    np.random.set_state((kind, keys.numpy().astype(np.uint32), *rest))
    torch.set_rng_state(states["torch"])
    cuda = states.get("cuda", [])
    if cuda and len(cuda) == torch.cuda.device_count():
        torch.cuda.set_rng_state_all(cuda)


def seed_all(seed: int) -> None:
    """Begin a run: seed the global generators."""
    random.seed(seed)
    np.random.seed(seed % 2**32)
    torch.manual_seed(seed)
