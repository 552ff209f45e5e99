"""Training with verl: strategy, batches, KL divergence, sampling (ARL290 to ARL297, ARL217, ARL203, ARL204, ARL231)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from agentic_rl.config.aura.rules.facts import has_below, page_of, source, told, wrote_at
from agentic_rl.config.diagnostics import Severity
from agentic_rl.config.fields.pages import BAD_TEXT
from agentic_rl.config.fields.wording import show, yaml_text
from agentic_rl.config.flat.batch_rules import BATCH_RULES
from agentic_rl.config.flat.nearest import multiples
from agentic_rl.config.flat.rules import RELATIONS
from agentic_rl.config.rules import Facts, Problem, Rule, rule
from agentic_rl.config.verl_native.native_rules.facts import ACTOR, MODEL, REF, ROLLOUT, data_parallel_size, whole

TRAINING: list[Rule] = []

_MEGATRON = frozenset(
    {
        "pipeline_model_parallel_size",
        "virtual_pipeline_model_parallel_size",
        "tensor_model_parallel_size",
        "context_parallel_size",
        "expert_model_parallel_size",
        "expert_tensor_parallel_size",
        "sequence_parallel",
        "override_transformer_config",
        "override_ddp_config",
        "use_mbridge",
        "use_distributed_optimizer",
    }
)
"""Keys of verl's `megatron` sections that its FSDP configuration does not have."""
_FSDP = frozenset({"wrap_policy", "reshard_after_forward", "fsdp_size", "forward_prefetch", "offload_policy"})
"""Keys of verl's `fsdp_config` that its Megatron configuration does not have."""
_TEMPLATES = {"megatron": "ppo_megatron_trainer", "fsdp_config": "ppo_trainer"}
_SECTIONS = {"megatron": "megatron", "fsdp": "fsdp_config", "fsdp2": "fsdp_config"}


@rule(TRAINING, "ARL290", "Settings of another training strategy", "error")
def strategy_keys(facts: Facts) -> Iterator[Problem]:
    """`strategy: megatron` reads the section `megatron`; `fsdp` and `fsdp2` read `fsdp_config`.

    The other section is refused by the class that is built from the keys, or has no effect; so are Megatron's keys in
    `fsdp_config` and the reverse. Choose the template that goes with the strategy: `ppo_trainer` for FSDP,
    `ppo_megatron_trainer` for Megatron.
    """
    strategy = facts[f"{ACTOR}.strategy"]
    own = _SECTIONS.get(strategy)
    if own is None:
        return
    other = "fsdp_config" if own == "megatron" else "megatron"
    foreign = _FSDP if own == "megatron" else _MEGATRON
    for node in (ACTOR, REF):
        if has_below(facts, f"{node}.{other}") and wrote_at(facts, f"{node}.{other}"):
            message = f"settings of {'fsdp' if own == 'megatron' else 'megatron'}, but strategy is {strategy}"
            message += source(facts, f"{ACTOR}.strategy")
            yield Problem(f"{node}.{other}", message, f"remove {other}, or strategy: {_other(own)}")
        brought = facts.wrote(f"{ACTOR}.strategy") and any(
            key.startswith(f"{node}.{other}.") for key in facts.overridden
        )
        if brought and node == ACTOR and not wrote_at(facts, f"{node}.{other}"):
            message = f"{strategy}, but the template has the settings of {_other(own)} (`{other}`)"
            yield Problem(f"{ACTOR}.strategy", message, f"the template {_TEMPLATES[own]}", "warning")
        misplaced = sorted(name for name in foreign if wrote_at(facts, f"{node}.{own}.{name}"))
        if misplaced:
            message = f"{', '.join(misplaced)}: {own} has no such keys; strategy is {strategy}"
            yield Problem(f"{node}.{own}", message, f"move them to `{other}:`, with strategy: {_other(own)}")


def _other(own: str) -> str:
    return "fsdp" if own == "megatron" else "megatron"


def _class_path(facts: Facts) -> Iterator[Problem]:
    key = f"{ROLLOUT}.agent.agent_loop_manager_class"
    path = facts[key]
    if isinstance(path, str) and not _DOTTED.fullmatch(path):
        message = f"{show(path)} is no dotted path of a class; it must be package.module.Class"
        yield Problem(key, message, "leave it out: agents are run by a class of our own")


_DOTTED = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)+")


@rule(TRAINING, "ARL291", "Truncation without a data set class", "error")
def truncation(facts: Facts) -> Iterator[Problem]:
    """Verl's own data set knows `truncation: error` alone; others come with a class in `data.custom_cls`."""
    way = facts["data.truncation"]
    if way != "error" and not facts.get("data.custom_cls.path"):
        message = f"{way}, but without data.custom_cls.path verl's data set takes nothing but error"
        yield Problem("data.truncation", message, "truncation: error, or data.custom_cls")


@rule(TRAINING, "ARL292", "Sampling turned off for a group", "warning")
def sampling(facts: Facts) -> Iterator[Problem]:
    """`do_sample: false` asks for the likeliest tokens, but group estimators learn from different samples of a prompt.

    verl 0.9.1 does not read the key in training rollouts: `temperature` alone decides, and the samples differ. An
    engine that obeys the key makes them equal, with the advantage 0. The documented sample has it.
    """
    key, group = f"{ROLLOUT}.do_sample", f"{ROLLOUT}.n"
    if facts[key] is False and facts[group] > 1:
        message = f"false{source(facts, key)}, but {told(facts, group)}: equal samples would teach nothing; verl 0.9.1 "
        yield Problem(key, message + "does not read it in training and samples by temperature", "do_sample: true")


@rule(TRAINING, "ARL293", "Old and new name of a batch size", "error")
def old_sizes(facts: Facts) -> Iterator[Problem]:
    """The sizes without `_per_gpu` are old names of the sizes with it; verl refuses a file that has both.

    Alone, the old name counts samples of all devices together; verl 0.9.1 no longer reads it in its workers.
    """
    sizes = {ACTOR: "ppo_micro_batch_size", ROLLOUT: "log_prob_micro_batch_size", REF: "log_prob_micro_batch_size"}
    for node, name in {**sizes, "critic": "ppo_micro_batch_size"}.items():
        old, new = f"{node}.{name}", f"{node}.{name}_per_gpu"
        if not facts.wrote(old) or facts[old] is None:
            continue
        if facts.wrote(new) and facts[new] is not None:
            message = f"{show(facts[old])}, but {told(facts, new)} stands beside it; verl refuses both"
            yield Problem(old, message, f"remove {name}")
        else:
            yield Problem(
                old, f"the old name of {name}_per_gpu", f"{name}_per_gpu, in samples of one device", "warning"
            )


@rule(TRAINING, "ARL294", "Value where a section belongs", "error")
def sections(facts: Facts) -> Iterator[Problem]:
    """Some keys of verl are sections; older ones and tutorials have a switch or a text in their place."""
    for key, inside in _NODES.items():
        value = facts.get(key)
        if value is not None and not isinstance(value, Mapping):
            message = f"{show(value)}, but {key.rpartition('.')[2]} is a section in verl"
            yield Problem(key, message, f"{key.rpartition('.')[2]}: with {inside} below it")


_NODES = {
    f"{ROLLOUT}.multi_turn": "enable: true",
    f"{ROLLOUT}.val_kwargs": "do_sample: false",
    f"{ROLLOUT}.engine_kwargs": "vllm: {}",
    f"{ROLLOUT}.checkpoint_engine": "backend: ...",
    f"{ROLLOUT}.trace": "backend: ...",
    f"{ROLLOUT}.custom": "keys of one's own",
    f"{ACTOR}.policy_loss": "loss_mode: vanilla",
    f"{ACTOR}.fsdp_config": "param_offload: false",
    f"{ACTOR}.checkpoint": "save_contents: [model, optimizer, extra]",
    f"{REF}.fsdp_config": "param_offload: false",
    f"{MODEL}.override_config": "the model's own keys",
    "critic": "its keys",
    "reward_model": "enable: false",
    "algorithm.filter_groups": "enable: false",
    "data.custom_cls": "path and name",
    "custom_reward_function": "path and name",
    "trainer.v1": "trainer_mode: ...",
}
"""Key that is a section -> what stands below it."""


@rule(TRAINING, "ARL295", "Sequence parallelism with padding", "error")
def ulysses(facts: Facts) -> Iterator[Problem]:
    """`ulysses_sequence_parallel_size` above 1 splits sequences without padding: `use_remove_padding` must be on."""
    if facts[f"{ACTOR}.strategy"] not in ("fsdp", "fsdp2"):
        return
    keys = [f"{node}.{name}" for node in (ACTOR, REF) for name in _ULYSSES]
    key = next((one for one in keys if _above_one(facts.get(one))), None)
    switch = f"{MODEL}.use_remove_padding"
    if key and facts[switch] is False:
        message = f"false{source(facts, switch)}, but {told(facts, key)}, which needs sequences without padding"
        yield Problem(switch, message, "use_remove_padding: true")


_ULYSSES = ("ulysses_sequence_parallel_size", "fsdp_config.ulysses_sequence_parallel_size")


def _above_one(value: object) -> bool:
    return isinstance(value, int) and value > 1


@rule(TRAINING, "ARL217", "Batch that the devices can't share", "error")
def batch_of_ranks(facts: Facts) -> Iterator[Problem]:
    """The `train_batch_size` x `rollout.n` samples of a step are spread evenly over the data-parallel ranks.

    Ranks are the devices (`n_gpus_per_node` x `nnodes`), divided by those that share a sample: tensor and pipeline
    parallelism of Megatron, Ulysses of FSDP.
    """
    key = "data.train_batch_size"
    ranks, group, prompts = data_parallel_size(facts), whole(facts, f"{ROLLOUT}.n"), whole(facts, key)
    samples = prompts * group
    if group < 1 or samples % ranks == 0:
        return
    message = f"{show(prompts)} prompts{source(facts, key)} x {told(facts, f'{ROLLOUT}.n')} = {show(samples)} samples, "
    message += f"which {show(ranks)} data-parallel ranks can't share evenly"
    fitting = [size for size in multiples(prompts, ranks) if size > 0] or [ranks]
    yield Problem(key, message, f"train_batch_size: {' or '.join(map(show, fitting))}")


def _mini_batch(facts: Facts) -> Iterator[Problem]:
    mini, batch = f"{ACTOR}.ppo_mini_batch_size", "data.train_batch_size"
    if facts[mini] > facts[batch]:
        message = f"{show(facts[mini])} prompts{source(facts, mini)}, but {told(facts, batch)} prompts"
        yield Problem(mini, message + "; a mini batch can't be larger", f"ppo_mini_batch_size: {show(facts[batch])}")


def _filled_up(facts: Facts) -> Iterator[Problem]:
    key, size = f"{ACTOR}.ppo_mini_batch_size", "data.train_batch_size"
    mini, batch = whole(facts, key), whole(facts, size)
    if 0 < mini < batch and batch % mini:
        message = f"{show(batch)} prompts{source(facts, size)} are no multiple of {told(facts, key)}: verl fills each "
        filled = -batch % mini * whole(facts, f"{ROLLOUT}.n")
        sizes = " or ".join(map(show, multiples(batch, mini)))
        yield Problem(size, f"{message}step up with {show(filled)} empty samples", f"train_batch_size: {sizes}")


def _both_kl(facts: Facts) -> Iterator[Problem]:
    reward, loss = "algorithm.use_kl_in_reward", f"{ACTOR}.use_kl_loss"
    if facts.get(reward) is True and facts[loss] is True:
        severity: Severity | None = None if facts.wrote(reward) or facts.wrote(loss) else "warning"
        message = f"true{source(facts, reward)}, and {told(facts, loss)} too; use one of them"
        yield Problem(reward, message, "use_kl_in_reward: false", severity)


@rule(TRAINING, "ARL296", "Weight 0 of the KL divergence", "error")
def kl_weight(facts: Facts) -> Iterator[Problem]:
    """`algorithm.kl_ctrl.kl_coef` is above 0. Where the reward has no KL divergence its value has no effect."""
    key = "algorithm.kl_ctrl.kl_coef"
    if facts[key] == 0:
        used = facts.get("algorithm.use_kl_in_reward") is True
        message = f"{yaml_text(facts[key])}; it must be greater than 0" + (
            "" if used else ", though nothing uses it here"
        )
        yield Problem(key, message, "kl_coef: 0.001", None if used else "warning")


TRAINING += [
    Rule(page_of(RELATIONS, "ARL203"), _both_kl),
    Rule(page_of(RELATIONS, "ARL204"), _mini_batch),
    Rule(page_of(BATCH_RULES, "ARL231"), _filled_up),
    Rule(BAD_TEXT, _class_path),
]
