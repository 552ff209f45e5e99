"""Shared level: our own keys, and keys that the released system reads though its page does not name them."""

from __future__ import annotations

from typing import Literal

from agentic_rl.config.fields.level import Level
from agentic_rl.config.types import FileOrAddress, NonNegativeInt, PositiveFloat, PositiveInt, UnitInterval


class OwnKeys(Level):
    """Keys of this product; the published format does not have them."""

    device: Literal["auto", "npu", "gpu", "cpu"] = "auto"
    """Kind of device; `auto` takes what is there."""
    seed: NonNegativeInt = 0
    """Seed of model initialisation, sampling and data order."""
    keep_checkpoints: PositiveInt = 2
    """Newest checkpoints kept; an older one is removed once a newer one is whole."""
    n_parallel_agents: PositiveInt = 1024
    """Trajectories in flight at the same time."""
    turn_timeout: PositiveFloat = 600.0
    """Seconds that one call of the model or of a tool may take."""
    trajectory_timeout: PositiveFloat = 7200.0
    """Seconds that one trajectory may take."""
    enable_thinking: bool | None = None
    """Whether the policy thinks before it answers, where its chat template has such a switch; null: the template's
    own default."""
    tool_parser: Literal["auto", "hermes", "qwen3_coder", "llama3_json", "pythonic"] = "auto"
    """Format of the policy's tool calls; `auto` takes the one in which the chat template prints earlier ones."""
    sandbox: Literal["full", "weak"] = "full"
    """Whether the tool `python` refuses to run code where the machine can't keep it apart (`full`), or runs it with
    what there is (`weak`); the log of the run then says so."""
    search: FileOrAddress | None = None
    """Where agents search that are not told otherwise, such as `search_r1`: a file of documents (.jsonl, .parquet), or
    the address of a retrieval server."""
    search_topk: PositiveInt = 3
    """Passages that such a search gives."""
    max_failed_fraction: UnitInterval = 0.5
    """Share of a step's trajectories that may fail; above it the run stops with the reason."""


class UndocumentedKeys(Level):
    """Keys that the published page does not name; accepted with a warning."""

    num_node: PositiveInt = 1
    """Nodes, for `mindspeed_rl`; on `verl` the key is `verl.nnodes`."""
    actor_rollout_dispatch_size: PositiveInt | None = None
    """Samples handed to a rollout worker at once; null derives it from the batch."""
    enable_prefix_caching: bool = False
    """Reuse the engine's cache for prompts that begin alike."""
    num_scheduler_steps: PositiveInt = 1
    """Without effect in every backend."""
    offload_train_optimizer: bool = False
    """Move the optimizer's state to host memory during the rollout."""
    offload_train_grad: bool = False
    """Move the gradients to host memory during the rollout."""
    offload_train_param: bool = False
    """Move the parameters to host memory during the rollout."""
    enable_expert_parallel: bool = False
    """Spread the experts of a mixture-of-experts model over the inference devices."""
    trust_remote_code: bool = False
    """Run Python code that comes with the model's files."""
