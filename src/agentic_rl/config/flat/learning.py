"""Shared level: the loss, the KL control and the optimizer."""

from __future__ import annotations

from typing import Literal

from agentic_rl.config.fields.level import Level
from agentic_rl.config.types import NonNegativeFloat, PositiveFloat, PositiveInt, UnitInterval

KlEstimator = Literal["kl", "abs", "mse", "low_var_kl", "full"]


class LearningKeys(Level):
    """What is optimised, and with which step."""

    lr: PositiveFloat = 1.0e-6
    """Learning rate at its highest, after the warm-up."""
    min_lr: NonNegativeFloat = 0.0
    """Learning rate at the end of the decay. Backends `verl` and `local` take it as the ratio min_lr / lr, with
    `warmup_style: cosine`."""
    lr_warmup_fraction: UnitInterval = 0.0
    """Share of the training steps in which the learning rate rises from 0 to `lr`."""
    weight_decay: UnitInterval = 0.0
    """Decoupled weight decay of the optimizer (AdamW)."""
    clip_grad: PositiveFloat = 1.0
    """Largest gradient norm, for `mindspeed_rl`; the sections `verl` and `local` have their own `grad_clip`."""
    clip_ratio: UnitInterval = 0.2
    """How far the probability ratio may move from 1 before the surrogate objective is clipped (PPO's epsilon)."""
    entropy_coeff: NonNegativeFloat = 0.2
    """Weight of the entropy bonus in the loss. The documented default is high: 0.001 is usual, 0 turns it off."""
    use_kl_in_reward: bool = False
    """Subtract the KL penalty from the reward. Not together with the section's `use_kl_loss`."""
    kl_penalty: KlEstimator = "kl"
    """Estimator of the KL divergence in the reward. `mindspeed_rl` has no `full`."""
    kl_coef: PositiveFloat = 0.05
    """Weight of the KL penalty in the reward; with `kl_ctrl_type: adaptive` the weight at the start."""
    kl_ctrl_type: Literal["fixed", "adaptive"] = "fixed"
    """Whether the weight of the KL penalty stays or follows `kl_target`."""
    kl_target: PositiveFloat = 0.1
    """KL divergence (nats) that the adaptive controller aims at."""
    kl_horizon: PositiveInt = 10000
    """Samples over which the adaptive controller adjusts the weight."""
    gamma: UnitInterval = 1.0
    """Discount of later rewards when advantages are estimated."""
    lam: UnitInterval = 1.0
    """Lambda of generalised advantage estimation: 0 has the least variance, 1 the least bias."""
