"""Trainer modes, sampling from the replay buffer, group filtering, resuming, and the schedule (ARL539 to ARL544)."""

from __future__ import annotations

from collections.abc import Iterator

from agentic_rl.config.fields.wording import show
from agentic_rl.config.rules import Facts, Problem, Rule, rule
from agentic_rl.config.verl_native.native_rules.facts import ACTOR, ROLLOUT, number, whole
from agentic_rl.config.verl_native.native_rules.naming import unknown_name

TRAINER_RULES: list[Rule] = []

_MODE = "trainer.v1.trainer_mode"
_SEPARATE = "trainer.v1.separate_async"
_SAMPLER = "trainer.v1.sampler"
_FILTER = "algorithm.filter_groups"
_PACKAGE_OF = {"nccl": "cupy", "nixl": "nixl", "mooncake": "mooncake", "kimi_ckpt_engine": "checkpoint_engine"}
"""Checkpoint engine of verl -> the package that it imports (verl/checkpoint_engine)."""
_PARTS = ("model", "optimizer", "extra", "hf_model")


@rule(TRAINER_RULES, "ARL539", "Trainer that verl does not have", "error")
def trainer_mode(facts: Facts) -> Iterator[Problem]:
    """`trainer.v1.trainer_mode` names the trainer; Ray has started when verl looks it up.

    `get_trainer_cls` in `verl/trainer/ppo/v1/trainer_base.py` raises in the task runner. The names are those that the
    installed verl registers.
    """
    yield from unknown_name(facts, _MODE, "trainers", "trainer", "the run would stop when Ray has started")


@rule(TRAINER_RULES, "ARL540", "Separate asynchronous training that verl refuses", "error")
def separate_training(facts: Facts) -> Iterator[Problem]:
    """`separate_async` trains and samples on devices of their own; verl's defaults do not allow it.

    `PPOTrainerSeparateAsync.__init__` in `verl/trainer/ppo/v1/trainer_separate_async.py` asserts that the batch is
    `parameter_sync_step` mini batches, that the rollout has nodes and devices, that the weights travel by another
    engine than `naive`, and that a reward model has devices of its own. An engine whose package is missing is not there
    (`verl/checkpoint_engine/__init__.py`). `HybridRolloutSwitchConfig` in
    `verl/trainer/config/config.py` bounds the switching of devices, which excludes disaggregated inference.
    """
    if facts[_MODE] != "separate_async":
        return
    steps, mini = whole(facts, f"{_SEPARATE}.parameter_sync_step"), whole(facts, f"{ACTOR}.ppo_mini_batch_size")
    batch = whole(facts, "data.train_batch_size")
    if batch != steps * mini:
        message = f"{show(batch)} prompts, but separate_async takes parameter_sync_step {show(steps)} x "
        message += f"ppo_mini_batch_size {show(mini)} = {show(steps * mini)}"
        yield Problem("data.train_batch_size", message, show(steps * mini))
    for name in ("nnodes", "n_gpus_per_node"):
        if whole(facts, f"{ROLLOUT}.{name}") <= 0:
            message = f"{show(facts[f'{ROLLOUT}.{name}'])}, but separate_async samples on devices of its own"
            yield Problem(f"{ROLLOUT}.{name}", message, "at least 1")
    yield from _weights(facts)
    if facts.get("reward.reward_model.enable") and not facts.get("reward.reward_model.enable_resource_pool"):
        message = "false, but separate_async never frees the memory of its rollouts for a reward model"
        yield Problem("reward.reward_model.enable_resource_pool", message, "true")
    yield from _switching(facts)


def _weights(facts: Facts) -> Iterator[Problem]:
    key, there = f"{ROLLOUT}.checkpoint_engine.backend", facts.get("@verl.weight_packages")
    backend = facts[key]
    if backend == "naive":
        message = "naive copies weights inside a process, but separate_async has rollouts in other processes"
        yield Problem(key, message, "nccl (on NPUs, too), nixl or mooncake")
    on_npu = facts.get("trainer.device") == "npu" and backend == "nccl"
    package = "torch_npu" if on_npu else _PACKAGE_OF.get(str(backend))
    if there is not None and package is not None and package not in there:
        message = f"{backend} needs the package {package}, which is not installed; verl notices when the models are up"
        yield Problem(key, message, f"install {package}, or write another way for the weights")


def _switching(facts: Facts) -> Iterator[Problem]:
    node = f"{_SEPARATE}.hybrid_rollout"
    ratio, window = number(facts, f"{node}.switch_threshold_ratio"), whole(facts, f"{node}.switch_cost_window_size")
    if not 0 < ratio <= 1:
        yield Problem(f"{node}.switch_threshold_ratio", f"{show(ratio)}, but it is a share: above 0, at most 1", "0.4")
    if window <= 0:
        yield Problem(f"{node}.switch_cost_window_size", f"{show(window)}, but at least one cost is averaged", "3")
    if facts.get(f"{node}.enable_switch") and facts.get(f"{ROLLOUT}.disaggregation.enabled"):
        yield Problem(f"{node}.enable_switch", "true, but disaggregated inference can't lend its devices", "false")


@rule(TRAINER_RULES, "ARL541", "Sampling from the replay buffer that verl refuses", "error")
def replay_buffer(facts: Facts) -> Iterator[Problem]:
    """Trajectories come through a replay buffer, which checks its settings when the trainer is made.

    `ReplayBuffer.__init__` in `verl/trainer/ppo/v1/replay_buffer.py`: `max_off_policy_threshold` is a whole number
    above 0 or null, `max_off_policy_strategy` is `drop` or `wait`. `PPOTrainer.step` divides the batch by
    `parameter_sync_step`, at the first step. With filtering or refilling, one prompt is fetched at a time; another
    `data.gen_batch_size` is overridden: a warning.
    """
    if facts.get(f"{_SAMPLER}.custom_sampler.path") is None:
        limit = facts[f"{_SAMPLER}.max_off_policy_threshold"]
        if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int) or limit <= 0):
            message = f"{show(limit)}, but it counts versions of the policy: a whole number above 0, or null"
            yield Problem(f"{_SAMPLER}.max_off_policy_threshold", message, "8, verl's default")
        what = facts[f"{_SAMPLER}.max_off_policy_strategy"]
        if what not in ("drop", "wait"):
            yield Problem(f"{_SAMPLER}.max_off_policy_strategy", f"verl can't {show(what)}", "drop or wait")
    steps, batch = facts.get(f"trainer.v1.{facts[_MODE]}.parameter_sync_step", 1), whole(facts, "data.train_batch_size")
    if facts[_MODE] != "separate_async" and isinstance(steps, int) and (steps < 1 or batch % steps):
        key = f"trainer.v1.{facts[_MODE]}.parameter_sync_step"
        yield Problem(key, f"{show(steps)} parts of a batch of {show(batch)} prompts are not whole", "1")
    one_by_one = facts.get(f"{_SAMPLER}.sync_refill_failed_groups") or facts.get(f"{_FILTER}.enable")
    fetched = facts.get("data.gen_batch_size")
    if one_by_one and fetched not in (None, 1):
        message = f"{show(fetched)}, but filtering or refilling groups fetches one prompt at a time"
        yield Problem("data.gen_batch_size", message, "null or 1", "warning")


@rule(TRAINER_RULES, "ARL542", "Group filtering without what it needs", "error")
def group_filtering(facts: Facts) -> Iterator[Problem]:
    """Groups are filtered by a metric that every trajectory brings with it when it is sampled.

    `PPOTrainer._resolve_filter_groups_metric` in `verl/trainer/ppo/v1/trainer_base.py` refuses filtering without a
    metric, and with a reward model that shares the trainer's devices, since that speaks only later.
    `max_inflight_gen_batches` is a whole number above 0 (`ReplayBuffer`). The built-in buffer ignores
    `max_num_gen_batches`.
    """
    if not facts.get(f"{_FILTER}.enable"):
        return
    if not facts.get(f"{_FILTER}.metric"):
        message = f"{show(facts.get(f'{_FILTER}.metric'))}, but groups are filtered by a metric"
        yield Problem(f"{_FILTER}.metric", message, "reward, or a name of reward_extra_info")
    if facts.get("reward.reward_model.enable") and not facts.get("reward.reward_model.enable_resource_pool"):
        message = "true, but the reward model shares the trainer's devices and speaks after groups are filtered"
        yield Problem(f"{_FILTER}.enable", message, "reward.reward_model.enable_resource_pool: true")
    batches = facts.get(f"{_FILTER}.max_inflight_gen_batches", 1)
    if isinstance(batches, bool) or not isinstance(batches, int) or batches <= 0:
        message = f"{show(batches)}, but it is a whole number of batches above 0"
        yield Problem(f"{_FILTER}.max_inflight_gen_batches", message, "1")


@rule(TRAINER_RULES, "ARL543", "Place to resume from that verl can't use", "error")
def resuming(facts: Facts) -> Iterator[Problem]:
    """A run resumes from a folder `.../global_step_N`: verl reads the step from its name.

    `PPOTrainer._load_checkpoint` in `verl/trainer/ppo/v1/trainer_base.py` asserts it when all models are loaded.
    `resume_mode` is `auto`, `disable` or `resume_path`; any other word leaves the folder undefined.
    """
    mode, path = facts["trainer.resume_mode"], facts.get("trainer.resume_from_path")
    if mode not in ("auto", "disable", "resume_path"):
        yield Problem("trainer.resume_mode", f"verl has no resume mode {show(mode)}", "auto, disable or resume_path")
    step = path.split("global_step_")[-1] if isinstance(path, str) and "global_step_" in path else ""
    if mode == "resume_path" and not step.isdecimal():
        message = f"{show(path)} does not end in global_step_N, from which verl reads the step"
        yield Problem("trainer.resume_from_path", message, "the folder of one checkpoint: .../global_step_100")


@rule(TRAINER_RULES, "ARL544", "Schedule without a step", "error")
def schedule(facts: Facts) -> Iterator[Problem]:
    """A run has at least one step of a whole batch.

    `PPOTrainer._init_dataloader` in `verl/trainer/ppo/v1/trainer_base.py` drops what does not fill a batch; with fewer
    rows than `data.train_batch_size` an epoch has no step and `fit` divides by zero. Without epochs or steps a run
    ends at once, as if it were done.
    """
    batch = whole(facts, "data.train_batch_size")
    rows = facts.get("@train.rows")
    if batch < 1:
        yield Problem("data.train_batch_size", f"{show(batch)} prompts, but a step needs at least 1", "1")
    elif rows is not None and 0 < rows < batch:
        message = f"{show(batch)} prompts, but the training data have {show(rows)} rows: no step is whole"
        yield Problem("data.train_batch_size", message, f"at most {show(rows)}")
    for name in ("total_epochs", "total_training_steps"):
        count = facts.get(f"trainer.{name}")
        if count is not None and (isinstance(count, bool) or not isinstance(count, int) or count < 1):
            yield Problem(f"trainer.{name}", f"{show(count)}, but it is a whole number above 0", "1")


@rule(TRAINER_RULES, "ARL519", "Part of a checkpoint that verl does not know", "error")
def checkpoint_parts(facts: Facts) -> Iterator[Problem]:
    """A checkpoint holds what `checkpoint.save_contents` names; verl passes over names that it does not know.

    `BaseCheckpointManager` in `verl/utils/checkpoint/checkpoint_manager.py` only asks whether a name is there. A
    misspelt `model` gives checkpoints without weights.
    """
    for name in ("save_contents", "load_contents"):
        key = f"{ACTOR}.checkpoint.{name}"
        parts = facts.get(key)
        unknown = [part for part in parts if part not in _PARTS] if isinstance(parts, list) else []
        follows = name == "load_contents" and parts == facts.get(f"{ACTOR}.checkpoint.save_contents")
        if unknown and not follows:
            listed = ", ".join(map(show, unknown))
            yield Problem(key, f"verl saves nothing called {listed}, and says so nowhere", f"of {', '.join(_PARTS)}")
