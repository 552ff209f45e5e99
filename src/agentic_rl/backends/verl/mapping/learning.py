"""The keys of the optimizer, the loss and the KL control on verl, of both levels."""

from __future__ import annotations

from agentic_rl.backends.verl.mapping.dead import dead
from agentic_rl.backends.verl.mapping.entry import (
    ACTOR,
    CRITIC,
    Engine,
    Entry,
    Native,
    Reader,
    Value,
    native,
    verl_section,
)
from agentic_rl.backends.verl.mapping.readers import algorithms, fsdp, losses, megatron, optimizer, trainer
from agentic_rl.config.flat.schema import FlatConfig

_LOSS = f"{ACTOR}.policy_loss"


def _both(
    name: str, reader: Reader, value: Value | None = None, words: str = "", engine: Engine = "any"
) -> tuple[Native, Native]:
    """The same setting of the actor's optimizer and of the critic's."""
    actor, critic = (Native(f"{model}.optim.{name}", reader, value, words, engine=engine) for model in (ACTOR, CRITIC))
    return actor, critic


def _lowest_share(config: FlatConfig) -> float:
    return verl_section(config).min_lr_ratio or config.min_lr / config.lr


def _lowest(config: FlatConfig) -> float:
    return _lowest_share(config) * config.lr


_LOWEST = (
    *_both("min_lr_ratio", fsdp("optim_config.min_lr_ratio"), _lowest_share, "min_lr / lr", "fsdp"),
    *_both("min_lr", megatron("config.min_lr"), _lowest, "min_lr_ratio x lr", "megatron"),
)

SHARED: tuple[Entry, ...] = (
    native("lr", *_both("lr", optimizer("config.lr")), note="the critic learns as fast as the actor"),
    native("min_lr", *_LOWEST, note="only with `warmup_style: cosine`"),
    native(
        "lr_warmup_fraction",
        *_both("lr_warmup_steps_ratio", fsdp("optim_config.lr_warmup_steps_ratio")),
        note="of the steps of the whole run",
    ),
    native("weight_decay", *_both("weight_decay", optimizer("config.weight_decay"))),
    dead("clip_grad"),
    native(
        "clip_ratio",
        Native(f"{ACTOR}.clip_ratio", algorithms("config.clip_ratio")),
        Native(f"{ACTOR}.clip_ratio_low", algorithms("config.clip_ratio_low")),
        Native(f"{ACTOR}.clip_ratio_high", algorithms("config.clip_ratio_high")),
        note="verl clips by the second and third, which have defaults of their own",
    ),
    native("entropy_coeff", Native(f"{ACTOR}.entropy_coeff", losses("config.entropy_coeff"))),
    native(
        "use_kl_in_reward",
        Native("algorithm.use_kl_in_reward", trainer("self.config.algorithm.use_kl_in_reward")),
    ),
    native("kl_penalty", Native("algorithm.kl_penalty", trainer("self.config.algorithm.kl_penalty"))),
    native("kl_coef", Native("algorithm.kl_ctrl.kl_coef", algorithms("kl_ctrl.kl_coef"))),
    native("kl_ctrl_type", Native("algorithm.kl_ctrl.type", algorithms("kl_ctrl.type"))),
    native("kl_target", Native("algorithm.kl_ctrl.target_kl", algorithms("kl_ctrl.target_kl"))),
    native("kl_horizon", Native("algorithm.kl_ctrl.horizon", algorithms("kl_ctrl.horizon"))),
    native("gamma", Native("algorithm.gamma", trainer("self.config.algorithm.gamma"))),
    native("lam", Native("algorithm.lam", trainer("self.config.algorithm.lam"))),
)

SECTION: tuple[Entry, ...] = (
    native(
        "verl.grad_clip",
        *_both("clip_grad", fsdp("self.optimizer_config.clip_grad")),
        note="`actor.grad_clip`, the key of that name, is not read",
    ),
    native(
        "verl.warmup_style",
        *_both("lr_scheduler_type", fsdp("optim_config.lr_scheduler_type"), engine="fsdp"),
        *_both("lr_decay_style", megatron("config.lr_decay_style"), engine="megatron"),
    ),
    native("verl.min_lr_ratio", *_LOWEST, note="only with `warmup_style: cosine`"),
    native("verl.num_cycles", *_both("num_cycles", fsdp("optim_config.num_cycles"), engine="fsdp")),
    native(
        "verl.policy_loss_model",
        Native(
            f"{_LOSS}.loss_mode",
            losses("config.policy_loss.get('loss_mode', 'vanilla')"),
            lambda config: verl_section(config).policy_loss_model.replace("-", "_"),
            "verl spells `clip_cov` and `kl_cov`",
        ),
    ),
    native(
        "verl.policy_loss_clip_cov_ratio",
        Native(f"{_LOSS}.clip_cov_ratio", algorithms("config.policy_loss.clip_cov_ratio")),
    ),
    native(
        "verl.policy_loss_clip_cov_lb", Native(f"{_LOSS}.clip_cov_lb", algorithms("config.policy_loss.clip_cov_lb"))
    ),
    native(
        "verl.policy_loss_clip_cov_ub", Native(f"{_LOSS}.clip_cov_ub", algorithms("config.policy_loss.clip_cov_ub"))
    ),
    native(
        "verl.policy_loss_kl_cov_ratio",
        Native(f"{_LOSS}.kl_cov_ratio", algorithms("config.policy_loss.kl_cov_ratio")),
    ),
    native(
        "verl.policy_loss_ppo_kl_coef", Native(f"{_LOSS}.ppo_kl_coef", algorithms("config.policy_loss.ppo_kl_coef"))
    ),
    native(
        "verl.loss_agg_mode",
        Native(f"{ACTOR}.loss_agg_mode", losses("config.loss_agg_mode"), through=(f"{CRITIC}.loss_agg_mode",)),
    ),
    native(
        "verl.use_kl_loss",
        Native(f"{ACTOR}.use_kl_loss", losses("config.use_kl_loss")),
        note="verl then holds a reference model, always in host memory",
    ),
    native("verl.kl_loss_coeff", Native(f"{ACTOR}.kl_loss_coef", losses("config.kl_loss_coef"))),
    native("verl.kl_loss_type", Native(f"{ACTOR}.kl_loss_type", losses("config.kl_loss_type"))),
    native(
        "verl.entropy_from_logits_with_chunking",
        Native(
            f"{ACTOR}.entropy_from_logits_with_chunking",
            fsdp("self.engine_config.entropy_from_logits_with_chunking"),
            through=(f"{ACTOR}.fsdp_config.entropy_from_logits_with_chunking",),
        ),
        note="read where padding is removed, which the adapter sets",
    ),
)
