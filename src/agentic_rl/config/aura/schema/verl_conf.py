"""`verl_conf`: verl's native configuration. Documented keys are typed, verl's further ones are kept as they are."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from agentic_rl.config.aura.schema.section import Section
from agentic_rl.config.aura.schema.verl_rollout import Actor, Ref, Rollout
from agentic_rl.config.types import AnyPath, Interval, NonNegativeFloat, NonNegativeInt, PositiveInt, Text


class Extras(Section):
    """`verl_conf.extras`: the services that training depends on."""

    agent_service: Text | None = None
    """Name of an agent instance."""
    infer_service: Text | None = None
    """Name of an inference instance."""


class KlCtrl(Section):
    """`verl_conf.algorithm.kl_ctrl`."""

    kl_coef: NonNegativeFloat = 0.001
    """Weight of the KL divergence in the reward; above 0 where it is used."""


class Algorithm(Section):
    """`verl_conf.algorithm`."""

    adv_estimator: Literal["grpo", "gae"] = "grpo"
    """How advantages are estimated."""
    kl_ctrl: KlCtrl = Field(default_factory=KlCtrl)
    """The KL divergence in the reward."""


class Data(Section):
    """`verl_conf.data`."""

    train_files: AnyPath | None = None
    """Parquet file with the tasks to train on. Required."""
    val_files: AnyPath | None = None
    """Parquet file with the tasks to evaluate on. Required."""
    train_batch_size: PositiveInt = 16
    """Prompts of one training step."""
    max_prompt_length: PositiveInt = 2048
    """Tokens of the longest prompt."""
    max_response_length: PositiveInt = 2048
    """Tokens of the longest response."""
    filter_overlong_prompts: bool = True
    """Leave out tasks whose prompt is longer than `max_prompt_length`."""
    truncation: Literal["error", "left", "right", "middle"] = "error"
    """What is done with longer prompts: `error`; the others only with a data set class of one's own."""


class Model(Section):
    """`verl_conf.actor_rollout_ref.model`."""

    path: AnyPath | None = None
    """Folder of the model to train. Required."""
    use_remove_padding: bool = False
    """Compute on real tokens only, not on padding."""
    enable_gradient_checkpointing: bool = True
    """Save memory by computing activations twice."""


class ActorRolloutRef(Section):
    """`verl_conf.actor_rollout_ref`."""

    model: Model = Field(default_factory=Model)
    """The policy."""
    actor: Actor = Field(default_factory=Actor)
    """Training."""
    rollout: Rollout = Field(default_factory=Rollout)
    """Inference."""
    ref: Ref = Field(default_factory=Ref)
    """The reference model."""


class TrainerKeys(Section):
    """`verl_conf.trainer`."""

    val_before_train: bool = False
    """Evaluate the untrained model first."""
    device: Literal["npu", "gpu", "cpu", "cuda"] = "npu"
    """Kind of device; `cuda`, verl's own word for `gpu`, is read too."""
    critic_warmup: NonNegativeInt = 0
    """Steps before the policy is trained."""
    project_name: Text | None = None
    """Name of the project; checkpoints stand below `checkpoints/<project_name>/<experiment_name>`."""
    experiment_name: Text | None = None
    """Name of the run."""
    n_gpus_per_node: PositiveInt = 8
    """Devices used on each node."""
    nnodes: PositiveInt = 1
    """Nodes that train."""
    save_freq: Interval = -1
    """Steps between two checkpoints; -1: none."""
    test_freq: Interval = -1
    """Steps between two evaluations; -1: none."""
    total_epochs: PositiveInt = 1
    """Passes over the training data."""
    logger: list[Text] = Field(default=["console"])
    """Where metrics go: `console`, `tensorboard`, and verl's others."""


class VerlConf(Section):
    """The native configuration of verl."""

    extras: Extras = Field(default_factory=Extras)
    """Services that training depends on; not a key of verl."""
    algorithm: Algorithm = Field(default_factory=Algorithm)
    """Advantages and the KL divergence in the reward."""
    data: Data = Field(default_factory=Data)
    """Tasks, and the sizes of batches and sequences."""
    actor_rollout_ref: ActorRolloutRef = Field(default_factory=ActorRolloutRef)
    """Policy, training, inference and reference model."""
    trainer: TrainerKeys = Field(default_factory=TrainerKeys)
    """Devices, schedule and names of the run."""

    def native(self) -> dict[str, Any]:
        """The whole tree: what was written and what templates brought, documented defaults for the rest.

        Of the two training engines' own defaults only those of the chosen one are there.
        """
        tree = self.given()
        actor, ref = self.actor_rollout_ref.actor, self.actor_rollout_ref.ref
        if actor.strategy != "megatron":
            for name, part in (("actor", actor), ("ref", ref)):
                if "megatron" not in part.model_fields_set:
                    del tree["actor_rollout_ref"][name]["megatron"]
        return tree
