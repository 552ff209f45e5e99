"""`verl_conf.actor_rollout_ref`: training, inference and reference model."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from agentic_rl.config.aura.schema.section import Section
from agentic_rl.config.types import (
    NonNegativeFloat,
    NonNegativeInt,
    PositiveFloat,
    PositiveFraction,
    PositiveInt,
    Text,
    UnitInterval,
)


class Optim(Section):
    """`actor.optim`."""

    lr: PositiveFloat = 5e-7
    """Learning rate."""


class TransformerConfig(Section):
    """`actor.megatron.override_transformer_config`."""

    use_flash_attn: bool = True
    """Use flash attention."""


class ActorMegatron(Section):
    """`actor.megatron`: how Megatron cuts the policy up."""

    seed: NonNegativeInt = 0
    """Seed of the random numbers."""
    pipeline_model_parallel_size: PositiveInt = 1
    """Stages of the pipeline."""
    tensor_model_parallel_size: PositiveInt = 4
    """Devices that share a layer."""
    override_transformer_config: TransformerConfig = Field(default_factory=TransformerConfig)
    """Settings of Megatron's transformer."""


class Actor(Section):
    """`actor_rollout_ref.actor`."""

    strategy: Literal["megatron", "fsdp", "fsdp2", "veomni"] = "megatron"
    """What trains."""
    optim: Optim = Field(default_factory=Optim)
    """The optimizer."""
    entropy_coeff: NonNegativeFloat = 0.001
    """Weight of the entropy in the loss."""
    ppo_mini_batch_size: PositiveInt = 2
    """Prompts of one update."""
    ppo_micro_batch_size_per_gpu: PositiveInt = 2
    """Samples of one forward and backward pass on a device."""
    use_kl_loss: bool = True
    """Add the KL divergence to the loss; not together with `algorithm.use_kl_in_reward`."""
    kl_loss_coef: UnitInterval = 0.001
    """Weight of the KL divergence in the loss."""
    kl_loss_type: Literal["kl", "abs", "mse", "low_var_kl", "full"] = "low_var_kl"
    """How the KL divergence in the loss is estimated."""
    megatron: ActorMegatron = Field(default_factory=ActorMegatron)
    """How Megatron cuts the policy up; without effect with another strategy."""


class AgentLoop(Section):
    """`rollout.agent`."""

    agent_loop_manager_class: Text | None = None
    """Dotted path of the class that runs agents."""


class Rollout(Section):
    """`actor_rollout_ref.rollout`."""

    prompt_length: PositiveInt = 2048
    """Tokens of the longest prompt."""
    response_length: PositiveInt = 2048
    """Tokens of the longest response."""
    agent: AgentLoop = Field(default_factory=AgentLoop)
    """What runs agents."""
    log_prob_micro_batch_size_per_gpu: PositiveInt = 2
    """Samples of one forward pass on a device when log-probabilities are computed."""
    enable_chunked_prefill: bool = False
    """Read long prompts in parts."""
    tensor_model_parallel_size: PositiveInt = 4
    """Devices that make one inference engine."""
    name: Text = "vllm"
    """Inference engine."""
    gpu_memory_utilization: PositiveFraction = 0.6
    """Share of a device's memory that the inference engine may take."""
    n: PositiveInt = 2
    """Samples of each prompt."""
    do_sample: bool = False
    """Draw tokens at random. verl 0.9.1 does not read it in training rollouts: `temperature` decides, 0 is greedy."""


class RefMegatron(Section):
    """`ref.megatron`: how Megatron cuts the reference model up."""

    pipeline_model_parallel_size: PositiveInt = 2
    """Stages of the pipeline."""
    tensor_model_parallel_size: PositiveInt = 2
    """Devices that share a layer."""


class Ref(Section):
    """`actor_rollout_ref.ref`."""

    log_prob_micro_batch_size_per_gpu: PositiveInt = 2
    """Samples of one forward pass on a device."""
    megatron: RefMegatron = Field(default_factory=RefMegatron)
    """How Megatron cuts the reference model up; without effect with another strategy."""
