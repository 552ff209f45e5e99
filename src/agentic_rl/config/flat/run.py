"""Shared level: what is trained, by which agent and backend, and how a run is watched."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from agentic_rl.config.fields.level import Level
from agentic_rl.config.types import AgentName, PositiveInt, SecureFile, SecurePath, Text

Backend = Literal["verl", "mindspeed_rl", "local"]


class RunKeys(Level):
    """Model, agent, backend, devices, length of a run."""

    tokenizer_name_or_path: Annotated[SecurePath, Field(examples=["/path/to/model"])]
    """Model to train. `mindspeed_rl`: the tokenizer's folder; `verl` and `local`: the model's folder, which holds the
    tokenizer too."""
    model_name: Text | None = None
    """Architecture that `mindspeed_rl` trains: `qwen3-8b` or `qwen2.5-7b`. Required there, without effect elsewhere."""
    agent_name: Annotated[AgentName, Field(examples=["math"])]
    """Name of the agent. A built-in agent (`math`) needs no `agent_engine_wrapper_path`. Ours: `package.module:Class`
    names an agent by its place in an importable module."""
    agent_engine_wrapper_path: SecureFile | None = None
    """Python file with exactly one subclass of `BaseEngineWrapper`: your agent. Where it is given it wins over a
    built-in agent of the same `agent_name`; without a built-in agent of that name it is required."""
    train_backend: Annotated[Backend, Field(examples=["local"])]
    """What trains: `verl`, `mindspeed_rl`, or (ours) `local`, the embedded backend for one machine. The section of the
    same name holds the backend's own keys."""
    use_stepwise_advantage: bool = False
    """On: each turn of a trajectory is one sample, and the trajectory's reward, normalised in its group, stands on the
    last token of every turn. Off: the trajectory is one sample with its reward on its last token."""
    num_gpus_per_node: PositiveInt = 8
    """Devices (NPUs or GPUs) used on each node."""
    max_steps: PositiveInt = 5
    """Turns that the policy may take in one trajectory."""
    dataset_additional_keys: list[Text] | None = None
    """Columns of `mindspeed_rl.data_path` that reach the agent. Required by `mindspeed_rl`, without effect
    elsewhere."""
    use_tensorboard: bool = False
    """Write the metrics for TensorBoard as well."""
    test_only: bool = False
    """Evaluate without training. The same holds where the section's `val_only` is true."""
    test_before_train: bool = False
    """Evaluate the untrained model first. The same holds where the section's `val_before_train` is true."""
