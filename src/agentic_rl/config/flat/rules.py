"""Relations between two keys that the documentation gives (ARL20x)."""

from __future__ import annotations

import math
from collections.abc import Iterator

from agentic_rl.config.diagnostics import Severity
from agentic_rl.config.fields.wording import show, yaml_text
from agentic_rl.config.flat.in_force import key_of, origin, source, told
from agentic_rl.config.rules import Facts, Problem, Rule, rule

RELATIONS: list[Rule] = []


@rule(RELATIONS, "ARL204", "Mini batch larger than the batch", "error")
def mini_batch(facts: Facts) -> Iterator[Problem]:
    """A mini batch is a part of the batch of one training step, both counted in prompts.

    The documented defaults (16 and 8) contradict this; left at its default, `ppo_mini_batch_size` is
    min(16, `train_batch_size`).
    """
    mini_key, batch_key = key_of(facts, "ppo_mini_batch_size"), key_of(facts, "train_batch_size")
    mini, batch = facts[mini_key], facts[batch_key]
    if mini <= batch:
        return
    if facts.wrote(mini_key):
        message = f"{mini} prompts, but train_batch_size is {batch} prompts{source(facts, batch_key)}"
        message += "; a mini batch can't be larger"
        yield Problem(mini_key, message, f"ppo_mini_batch_size: {batch}")
    else:
        message = f"the default, {mini} prompts, is more than train_batch_size, {batch} prompts: {batch} is used"
        yield Problem(mini_key, message, f"ppo_mini_batch_size: {batch}", "note")


@rule(RELATIONS, "ARL202", "Bounds of clip-cov in the wrong order", "error")
def clip_cov_bounds(facts: Facts) -> Iterator[Problem]:
    """`policy_loss_clip_cov_lb` must be smaller than `policy_loss_clip_cov_ub`.

    Tokens whose covariance lies between the two bounds are candidates for cutting; an empty interval cuts none.
    """
    low_key, high_key = key_of(facts, "policy_loss_clip_cov_lb"), key_of(facts, "policy_loss_clip_cov_ub")
    low, high = facts[low_key], facts[high_key]
    if low >= high:
        message = f"{yaml_text(low)}{origin(facts, low_key)} is not below policy_loss_clip_cov_ub, "
        message += f"{yaml_text(high)}{source(facts, high_key)}; the lower bound must be the smaller one"
        key = low_key if facts.wrote(low_key) else high_key
        yield Problem(key, message, "policy_loss_clip_cov_lb: 1.0 and policy_loss_clip_cov_ub: 5.0")


@rule(RELATIONS, "ARL203", "KL divergence counted twice", "error")
def both_kl(facts: Facts) -> Iterator[Problem]:
    """The KL divergence goes into the reward (`use_kl_in_reward`) or into the loss (`use_kl_loss`), not into both."""
    key = key_of(facts, "use_kl_loss")
    if facts[key] and facts["use_kl_in_reward"]:
        message = f"use_kl_loss and use_kl_in_reward{source(facts, 'use_kl_in_reward')} are both true; use one of them"
        yield Problem(key, message, "use_kl_in_reward: false")


@rule(RELATIONS, "ARL205", "Two final learning rates", "error")
def final_learning_rate(facts: Facts) -> Iterator[Problem]:
    """`min_lr` is a learning rate, the section's `min_lr_ratio` a share of `lr`; written both, they must agree.

    `min_lr` is the lowest learning rate, so it can't be above `lr`.
    """
    lr, min_lr = facts["lr"], facts["min_lr"]
    if min_lr > lr:
        message = f"{yaml_text(min_lr)} is above lr, {yaml_text(lr)}{source(facts, 'lr')}; "
        message += "it is the lowest learning rate"
        # MindSpeed-RL's own check does not look at it; Megatron stops the workers later.
        later: Severity | None = "warning" if facts["train_backend"] == "mindspeed_rl" else None
        yield Problem("min_lr", message, "min_lr: 0.0", later)
        return
    key = key_of(facts, "min_lr_ratio")
    ratio = facts[key]
    if facts.wrote(key) and facts.wrote("min_lr") and not math.isclose(ratio * lr, min_lr, rel_tol=1e-3):
        message = f"{yaml_text(ratio)} of {told(facts, 'lr')} is {yaml_text(ratio * lr)}, "
        message += f"but min_lr is {yaml_text(min_lr)}{source(facts, 'min_lr')}"
        one_is_default = not (ratio and min_lr)
        message += ": the one that is not 0 holds" if one_is_default else ""
        severity: Severity = "warning" if one_is_default else "error"
        yield Problem(key, message, "keep one of min_lr and min_lr_ratio", severity)


@rule(RELATIONS, "ARL206", "Final learning rate without a decay", "warning")
def decay_is_off(facts: Facts) -> Iterator[Problem]:
    """With `warmup_style: constant` the learning rate stays at `lr`; `min_lr` has no effect."""
    style = key_of(facts, "warmup_style")
    if facts[style] == "constant" and facts["min_lr"] > 0:
        message = f"{yaml_text(facts['min_lr'])} has no effect: warmup_style is constant{source(facts, style)}"
        yield Problem("min_lr", message, "warmup_style: cosine, or remove min_lr")


@rule(RELATIONS, "ARL207", "test_only and val_only disagree", "warning")
def evaluation_only(facts: Facts) -> Iterator[Problem]:
    """The run evaluates without training when `test_only` or the section's `val_only` is true."""
    key = key_of(facts, "val_only")
    if facts.wrote(key) and facts.wrote("test_only") and facts[key] != facts["test_only"]:
        message = f"val_only is {show(facts[key])} and test_only is {show(facts['test_only'])}"
        message += f"{source(facts, 'test_only')}: "
        yield Problem(key, message + "the one that is true holds, nothing is trained", "write the same for both")


@rule(RELATIONS, "ARL208", "test_before_train and val_before_train disagree", "warning")
def evaluation_before_training(facts: Facts) -> Iterator[Problem]:
    """The untrained model is evaluated when `test_before_train` or the section's `val_before_train` is true.

    `val_before_train` is true by default, so `test_before_train: false` alone does not prevent the evaluation.
    """
    key = key_of(facts, "val_before_train")
    shared, own = facts["test_before_train"], facts[key]
    if not facts.wrote("test_before_train") or shared == own:
        return
    message = f"val_before_train is {show(own)}{source(facts, key)} and test_before_train is {show(shared)}"
    message += f"{source(facts, 'test_before_train')}: "
    message += "the one that is true holds, the untrained model is evaluated"
    if facts.wrote(key):
        yield Problem(key, message, "write the same for both")
    else:
        yield Problem("test_before_train", message, "val_before_train: false", "note")


@rule(RELATIONS, "ARL209", "Two numbers of nodes", "error")
def nodes_of_verl(facts: Facts) -> Iterator[Problem]:
    """The nodes of verl are `verl.nnodes`; `num_node` is the key of mindspeed_rl. Written both, they must agree."""
    if facts["train_backend"] != "verl" or not (facts.wrote("num_node") and facts.wrote("verl.nnodes")):
        return
    own, shared = facts["verl.nnodes"], facts["num_node"]
    if own != shared:
        message = f"{show(shared)} nodes, but verl.nnodes is {show(own)}{source(facts, 'verl.nnodes')}"
        yield Problem("num_node", message, "remove num_node")


@rule(RELATIONS, "ARL210", "Training sequences longer than the engine's", "error")
def sequence_length(facts: Facts) -> Iterator[Problem]:
    """`mindspeed_rl.seq_len` can't be above `max_model_len`, the longest sequence that the engine makes."""
    if facts["train_backend"] != "mindspeed_rl":
        return
    key = "mindspeed_rl.seq_len"
    length, limit = facts[key], facts["max_model_len"]
    if length > limit:
        message = f"{show(length)} tokens{origin(facts, key)}, but max_model_len is {show(limit)} tokens"
        message += f"{source(facts, 'max_model_len')}; seq_len can't be above it"
        yield Problem(key, message, f"seq_len: {show(limit)}, or max_model_len: {show(length)}")
