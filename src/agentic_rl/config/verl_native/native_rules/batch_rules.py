"""Batches, mini batches, micro batches and groups (ARL535 to ARL538)."""

from __future__ import annotations

import math
from collections.abc import Iterator

from agentic_rl.config.diagnostics import Severity
from agentic_rl.config.fields.wording import show
from agentic_rl.config.flat.nearest import multiples
from agentic_rl.config.rules import Facts, Problem, Rule, rule
from agentic_rl.config.verl_native.native_rules.facts import (
    ACTOR,
    REF,
    ROLLOUT,
    data_parallel_size,
    mini_batch,
    uses_critic,
    uses_reference,
    whole,
)

BATCH_RULES: list[Rule] = []

_GROUPED = frozenset(
    {
        "gdpo",
        "gpg",
        "grpo",
        "grpo_vectorized",
        "opo",
        "optimal_token_baseline",
        "reinforce_plus_plus_baseline",
        "rloo",
        "rloo_vectorized",
        "tir_optimal_token_baseline",
    }
)
"""Estimators that compare the samples of a prompt, and take a single one as it is."""
_BY_TOKENS = "log_prob_use_dynamic_bsz"


@rule(BATCH_RULES, "ARL535", "Batches by tokens in one place and by samples in another", "error")
def dynamic_batches(facts: Facts) -> Iterator[Problem]:
    """`use_dynamic_bsz` of the actor and `log_prob_use_dynamic_bsz` of the rollout are the same switch twice.

    `ActorRolloutRefWorker.init_model` in `verl/workers/engine_workers.py` asserts it in every worker, with an empty
    message, and that the size that goes with the switch is given: tokens (`ppo_max_token_len_per_gpu`,
    `log_prob_max_token_len_per_gpu`) or samples (`..._micro_batch_size_per_gpu`).
    """
    actor, rollout = facts[f"{ACTOR}.use_dynamic_bsz"], facts[f"{ROLLOUT}.{_BY_TOKENS}"]
    if actor != rollout:
        message = f"{show(rollout)}, but actor.use_dynamic_bsz is {show(actor)}"
        yield Problem(f"{ROLLOUT}.{_BY_TOKENS}", message, show(actor))
        return
    sizes = ("max_token_len_per_gpu",) if actor else ("micro_batch_size_per_gpu",)
    for key in (f"{node}_{size}" for size in sizes for node in (f"{ACTOR}.ppo", f"{ROLLOUT}.log_prob")):
        deprecated = key.removesuffix("_per_gpu")
        if facts.get(key) is None and facts.get(deprecated) is not None:
            message = f"null: the workers do not read {deprecated.rpartition('.')[2]}, its old name"
            yield Problem(key, message, f"a number here, and null for {deprecated.rpartition('.')[2]}")
        elif actor and facts.get(key) is None:
            yield Problem(key, "null, but use_dynamic_bsz fills micro batches by tokens", "16384, verl's default")


@rule(BATCH_RULES, "ARL536", "Mini batch that the ranks can't share", "error")
def mini_batch_of_ranks(facts: Facts) -> Iterator[Problem]:
    """A mini batch has `ppo_mini_batch_size` x `rollout.n` samples, an equal part for each data-parallel rank.

    `TrainingWorker.train_mini_batch` in `verl/workers/engine_workers.py` asserts it in the first update, after a whole
    rollout. Ranks are the devices, divided by those that share a sample (Ulysses; tensor, pipeline and context
    parallel of Megatron).
    """
    ranks, samples = data_parallel_size(facts), mini_batch(facts)
    if samples % ranks == 0:
        return
    key, group = f"{ACTOR}.ppo_mini_batch_size", whole(facts, f"{ROLLOUT}.n")
    prompts = whole(facts, key)
    message = f"{show(prompts)} prompts x rollout.n {show(group)} = {show(samples)} samples, which {show(ranks)} "
    step = ranks // math.gcd(ranks, group)
    yield Problem(key, message + "data-parallel ranks can't share evenly", _either(multiples(prompts, step)))


@rule(BATCH_RULES, "ARL537", "Micro batches that do not fill a rank's part", "error")
def micro_batches(facts: Facts) -> Iterator[Problem]:
    """Without `use_dynamic_bsz` micro batches have a fixed number of samples, which divides what a rank has.

    `prepare_micro_batches` in `verl/workers/engine/utils.py` asserts it: for log-probabilities with the part of the
    whole batch, for the update with that of a mini batch. verl checks neither before.
    """
    ranks, mini = data_parallel_size(facts), mini_batch(facts)
    if mini % ranks or mini < 1:
        return  # ARL536
    of_update, of_batch = mini // ranks, _batch(facts, ranks, mini) // ranks
    parts = {f"{ACTOR}.ppo_micro_batch_size_per_gpu": (f"{ACTOR}.use_dynamic_bsz", of_update, "of a mini batch")}
    for node in (ROLLOUT, *([REF] if uses_reference(facts) else [])):
        size = f"{node}.log_prob_micro_batch_size_per_gpu"
        parts[size] = (f"{node}.{_BY_TOKENS}", of_batch, "of the batch")
    for key, (switch, part, of_what) in parts.items():
        if facts.get(switch) or facts.get(key) is None:
            continue
        micro = whole(facts, key)
        if micro < 1 or part % micro:
            message = f"{show(micro)} samples do not divide a rank's part {of_what}, {show(part)} samples"
            fitting = [size for size in range(1, min(part, 1024) + 1) if part % size == 0]
            near = sorted((abs(size - micro), size) for size in fitting)[:2]
            yield Problem(key, message, _either(sorted(size for _, size in near)))


@rule(BATCH_RULES, "ARL538", "Group of one sample", "warning")
def group_of_one(facts: Facts) -> Iterator[Problem]:
    """An estimator that compares the samples of a prompt needs at least two of them (`rollout.n`).

    In `verl/trainer/ppo/core_algos.py` a group of one has mean 0 and deviation 1, so that the reward itself becomes the
    advantage: no error, but it is not the estimator any more. `grpo_passk` raises: an error.
    """
    estimator, group = facts["algorithm.adv_estimator"], whole(facts, f"{ROLLOUT}.n")
    severity: Severity | None = "error" if group < 1 or estimator == "grpo_passk" else None
    if group < 1 or (group == 1 and (estimator in _GROUPED or severity)):
        message = f"{show(group)} sample of each prompt, but {estimator} compares samples of the same prompt"
        yield Problem(f"{ROLLOUT}.n", message, "2 or more", severity)


def _batch(facts: Facts, ranks: int, mini: int) -> int:
    """Samples of one batch as verl pads it (`_get_required_batch_multiple` in trainer/ppo/v1/trainer_base.py)."""
    group = whole(facts, f"{ROLLOUT}.n")
    multiple = math.lcm(ranks, mini)
    if uses_critic(facts):
        multiple = math.lcm(multiple, whole(facts, "critic.ppo_mini_batch_size") * group)
    mode = facts.get("trainer.v1.trainer_mode")
    steps = facts.get(f"trainer.v1.{mode}.parameter_sync_step", 1) or 1
    samples = whole(facts, "data.train_batch_size") // steps * group
    return max(1, math.ceil(samples / multiple)) * multiple


def _either(sizes: list[int]) -> str:
    return " or ".join(map(show, sizes))
