"""The section `verl`."""

from __future__ import annotations

from agentic_rl.config.flat.training import TrainingKeys
from agentic_rl.config.types import PositiveFloat, PositiveInt


class VerlSection(TrainingKeys):
    """Keys of the backend verl."""

    nnodes: PositiveInt = 1
    """Nodes of the cluster."""
    dataloader_num_workers: PositiveInt = 8
    """Processes that read data."""
    balance_batch: bool = True
    """Give every worker about the same number of tokens."""
    fsdp_param_offload: bool = False
    """Move the actor's parameters to host memory between uses."""
    fsdp_optimizer_offload: bool = False
    """Move the optimizer's state to host memory between uses."""
    startup_timeout: PositiveFloat = 1800.0
    """Seconds until verl has to train: until then Ray, the trainer and the engine load the model."""
