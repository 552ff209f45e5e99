"""Keys that the sections `verl` and `local` share: same types, defaults and constraints."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from agentic_rl.config.fields.level import Level
from agentic_rl.config.flat.learning import KlEstimator
from agentic_rl.config.types import (
    DistinctList,
    FolderName,
    Interval,
    PositiveFloat,
    PositiveInt,
    SecureFile,
    UnitInterval,
)

CheckpointPart = Literal["model", "optimizer", "extra", "hf_model"]


class TrainingKeys(Level):
    """Data, batches, schedule, loss and evaluation of one training run."""

    train_files: Annotated[SecureFile, Field(examples=["/path/to/train.parquet"])]
    """Training data: a parquet file in verl's layout (`prompt`, `data_source`, `reward_model`, `extra_info`)."""
    val_files: Annotated[SecureFile, Field(examples=["/path/to/test.parquet"])]
    """Validation data: a parquet file in verl's layout."""
    project_name: FolderName = "default-agent"
    """Project; part of the checkpoints' path `checkpoints/PROJECT/EXPERIMENT`. A changed name starts afresh."""
    experiment_name: FolderName = "default-experiment"
    """Experiment; part of the checkpoints' path `checkpoints/PROJECT/EXPERIMENT`. A changed name starts afresh."""
    total_epochs: PositiveInt = 2
    """Passes over the training data."""
    total_training_steps: PositiveInt | None = None
    """Training steps; null takes as many as the epochs give."""
    save_freq: PositiveInt = 1000
    """Training steps between two checkpoints."""
    train_batch_size: PositiveInt = 8
    """Prompts of one training step; each is sampled `rollout_n` times."""
    val_batch_size: PositiveInt = 512
    """Prompts of one validation batch."""
    ppo_mini_batch_size: PositiveInt = 16
    """Prompts of one optimizer step; at most `train_batch_size`. Left at the default it is min(16,
    `train_batch_size`)."""
    ppo_max_token_len_per_gpu: PositiveInt = 24000
    """Tokens of one micro batch on one device; at least prompt and response together, advised `rollout_n` times
    that."""
    ppo_epochs: PositiveInt = 1
    """Passes over the trajectories of one training step."""
    max_response_length: PositiveInt = 2048
    """Tokens after the prompt, over all turns, tool output included."""
    truncation: Literal["error", "left", "right", "middle"] = "error"
    """What happens to a prompt longer than `max_prompt_length`: stop, or cut that side."""
    adv_estimator: Literal["grpo", "gae"] = "grpo"
    """How advantages are estimated: by comparison in the group (`grpo`), or with a critic (`gae`)."""
    grad_clip: PositiveFloat = 1.0
    """Largest gradient norm."""
    warmup_style: Literal["constant", "cosine"] = "constant"
    """Learning rate after the warm-up: constant, or falling along a cosine."""
    min_lr_ratio: UnitInterval = 0.0
    """Learning rate at the end of the cosine, as a share of `lr`; only with `warmup_style: cosine`."""
    num_cycles: PositiveFloat = 0.5
    """Periods of the cosine; 0.5 falls once. Only with `warmup_style: cosine`."""
    policy_loss_model: Literal["vanilla", "clip-cov", "kl-cov", "gpg"] = "vanilla"
    """Policy loss: clipped surrogate (`vanilla`), clipped or KL-penalised by covariance, or plain policy gradient
    (`gpg`)."""
    policy_loss_clip_cov_ratio: PositiveFloat = 0.0002
    """Share of the tokens whose gradient is cut; only with `policy_loss_model: clip-cov`."""
    policy_loss_clip_cov_lb: PositiveFloat = 1.0
    """Lower bound of the covariance of tokens to cut, below the upper one; only with `policy_loss_model:
    clip-cov`."""
    policy_loss_clip_cov_ub: PositiveFloat = 5.0
    """Upper bound of the covariance of tokens to cut; only with `policy_loss_model: clip-cov`."""
    policy_loss_kl_cov_ratio: PositiveFloat = 0.0002
    """Share of the tokens that get a KL penalty; only with `policy_loss_model: kl-cov`."""
    policy_loss_ppo_kl_coef: UnitInterval = 0.1
    """Weight of that KL penalty; only with `policy_loss_model: kl-cov`."""
    loss_agg_mode: Literal["token-mean", "seq-mean-token-sum", "seq-mean-token-mean"] = "token-mean"
    """How token losses become one number: mean over all tokens, or over samples of their sums or means."""
    use_kl_loss: bool = False
    """Add the KL divergence from the reference model to the loss. Not together with `use_kl_in_reward`."""
    kl_loss_coeff: UnitInterval = 0.001
    """Weight of the KL loss; only with `use_kl_loss`."""
    kl_loss_type: KlEstimator = "low_var_kl"
    """Estimator of the KL divergence in the loss; only with `use_kl_loss`."""
    entropy_from_logits_with_chunking: bool = False
    """Compute the entropy in chunks, with less memory."""
    ckpt_content: DistinctList[CheckpointPart] = Field(default=["model", "optimizer", "extra"])
    """What a checkpoint holds: distinct items of `model`, `optimizer`, `extra` (random states, schedule) and
    `hf_model` (the model as transformers loads it)."""
    val_before_train: bool = True
    """Validate the untrained model first. The same holds where `test_before_train` is true."""
    val_only: bool = False
    """Validate without training. The same holds where `test_only` is true."""
    test_freq: Interval = -1
    """Training steps between two validations; -1: none while training."""

    @property
    def effective_ppo_mini_batch_size(self) -> int:
        """Prompts of one optimizer step: the documented defaults (16 of 8) would contradict each other."""
        return min(self.ppo_mini_batch_size, self.train_batch_size)
