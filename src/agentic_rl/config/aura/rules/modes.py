"""Training and inference apart (ARL273, ARL274)."""

from __future__ import annotations

from collections.abc import Iterator

from agentic_rl.config.aura.rules.facts import source, told, trainings
from agentic_rl.config.fields.wording import show
from agentic_rl.config.rules import Facts, Problem, Rule, rule

MODES: list[Rule] = []

APART = ("one_step_off", "fully_async")
_SEPARATE = "trainer.v1.separate_async.parameter_sync_step"
_TRANSFER = "actor_rollout_ref.rollout.checkpoint_engine.backend"
_MINI, _BATCH = "actor_rollout_ref.actor.ppo_mini_batch_size", "data.train_batch_size"


def apart(facts: Facts) -> list[str]:
    """Native configurations of verl whose inference has devices of its own."""
    pairs = ((one.native, facts.get(f"{one.instance}.executor_kwargs.cluster_mode")) for one in trainings(facts))
    return list(dict.fromkeys(node for node, mode in pairs if node and mode in APART))


@rule(MODES, "ARL273", "Batch that is no whole number of updates", "error")
def whole_updates(facts: Facts) -> Iterator[Problem]:
    """With training and inference apart a batch is `parameter_sync_step` mini batches, neither more nor less.

    Weights are sent after so many updates (`PPOTrainerSeparateAsync` of verl 0.9.1 asserts it). Where nobody writes
    `trainer.v1.separate_async.parameter_sync_step`, it is `train_batch_size` / `ppo_mini_batch_size`.
    """
    for node in apart(facts):
        mini, batch, steps = (facts.get(f"{node}.{key}") for key in (_MINI, _BATCH, _SEPARATE))
        if not isinstance(mini, int) or not isinstance(batch, int) or mini < 1:
            continue
        key = f"{node}.{_BATCH}"
        if isinstance(steps, int) and facts.wrote(f"{node}.{_SEPARATE}") and batch != steps * mini:
            message = f"{show(batch)} prompts{source(facts, key)}, but {told(facts, f'{node}.{_SEPARATE}')} x "
            message += f"{told(facts, f'{node}.{_MINI}')} = {show(steps * mini)}; a batch is so many mini batches"
            yield Problem(key, message, f"train_batch_size: {show(steps * mini)}")
        elif not isinstance(steps, int) and batch > mini and batch % mini:
            message = f"{show(batch)} prompts{source(facts, key)} are no multiple of {told(facts, f'{node}.{_MINI}')}; "
            message += "with training and inference apart a batch is whole mini batches"
            yield Problem(key, message, f"train_batch_size: {show(batch // mini * mini)}")


@rule(MODES, "ARL274", "Weight transfer that is replaced", "note")
def weight_transfer(facts: Facts) -> Iterator[Problem]:
    """`checkpoint_engine.backend: naive` hands weights over inside one process.

    With training and inference apart there is no such process, and verl 0.9.1 refuses it: a transfer between processes
    takes its place.
    """
    for node in apart(facts):
        key = f"{node}.{_TRANSFER}"
        if facts.get(key) == "naive" and facts.wrote(key):
            message = (
                "naive can't reach the processes of inference that stand apart; a transfer between processes is used"
            )
            yield Problem(key, message)
