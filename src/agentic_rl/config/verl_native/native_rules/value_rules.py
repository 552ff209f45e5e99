"""Values of another kind, files, rewards, distillation and the model's own settings (ARL545 to ARL549)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from agentic_rl.config.fields.wording import show
from agentic_rl.config.rules import Facts, Problem, Rule, rule
from agentic_rl.config.verl_native.native_rules.facts import MODEL, ROLLOUT, number, whole
from agentic_rl.config.verl_native.native_rules.naming import offered, unknown_name

VALUE_RULES: list[Rule] = []

_LOSS = "distillation.distillation_loss"
_FORMATS = (".parquet", ".json", ".jsonl")


@rule(VALUE_RULES, "ARL545", "Something else where verl has a number", "error")
def numeric_values(facts: Facts) -> Iterator[Problem]:
    """Where verl's own configuration has a number, a text is a mistake that may be found late.

    `optim.lr: abc` reaches the optimizer in a worker; `rollout.n: abc` fails in verl's check of the batch, with a
    message about formatting. YAML takes `1e-6` for text where it wants a dot: `1.0e-6`.
    """
    for key, default in facts["@template"].items():
        value = facts.get(key)
        if _is_number(default) and isinstance(value, (str, list, Mapping)) and value != "???":
            yield Problem(key, f"{show(value)}, where verl has a number ({show(default)} by default)", "a number")


@rule(VALUE_RULES, "ARL546", "Data file that verl can't load", "error")
def data_files(facts: Facts) -> Iterator[Problem]:
    """Data files are loaded by the trainer, when Ray has started: they must be there, and end in a known name.

    `RLHFDataset._read_files_and_tokenize` in `verl/utils/dataset/rl_dataset.py` reads `.parquet`, `.json` and `.jsonl`.
    Paths of another file system (`hdfs://`, `s3://`) are not looked at.
    """
    if facts.get("data.custom_cls.path") is not None:
        return
    for key in ("data.train_files", "data.val_files"):
        named = facts[key]
        for path in named if isinstance(named, list) else [named]:
            if not isinstance(path, str):
                yield Problem(key, f"{show(path)} is no path", "the path of a parquet file")
            elif not path.endswith(_FORMATS):
                yield Problem(key, f"{show(path)} is in no format that verl reads", f"one of {', '.join(_FORMATS)}")
            elif "://" not in path and not Path(path).expanduser().exists():
                yield Problem(key, f"{show(path)} is not there", "the path of a file that exists")


@rule(VALUE_RULES, "ARL547", "Reward manager that verl does not have", "error")
def reward_manager(facts: Facts) -> Iterator[Problem]:
    """`reward.reward_manager` is a registered name, or a class of a module of one's own (`source: importlib`).

    `resolve_reward_manager_cls` in `verl/trainer/ppo/reward.py` looks it up when the reward workers start. The names
    are those that the installed verl registers.
    """
    node = "reward.reward_manager"
    source = facts[f"{node}.source"]
    if source == "register":
        key = f"{node}.name"
        yield from unknown_name(facts, key, "reward_managers", "reward manager", "its reward workers would stop")
    elif source == "importlib":
        if not facts.get(f"{node}.module.path"):
            yield Problem(
                f"{node}.module.path", "null, but source: importlib loads the class from a module", "its path"
            )
    else:
        yield Problem(f"{node}.source", f"verl takes no reward manager from {show(source)}", "register or importlib")


@rule(VALUE_RULES, "ARL548", "Distillation that verl refuses", "error")
def distillation(facts: Facts) -> Iterator[Problem]:
    """Distillation from a teacher has rules that the workers check, when the policy was loaded already.

    `DistillationLossConfig` and `DistillationConfig` in `verl/workers/config/distillation.py`: a registered loss, no
    policy loss but `vanilla`, no direct gradient of `k1`, teachers that fill their devices exactly, and a teacher's
    context with room for prompt, response and one token.
    """
    if not facts.get("distillation.enabled"):
        return
    loss = facts[f"{_LOSS}.loss_mode"]
    if loss not in facts["@verl.distillation_losses"]:
        names = facts["@verl.distillation_losses"]
        yield Problem(f"{_LOSS}.loss_mode", f"verl has no distillation loss {show(loss)}", offered(loss, names))
    if facts[f"{_LOSS}.policy_loss_mode"] != "vanilla":
        mode = show(facts[f"{_LOSS}.policy_loss_mode"])
        yield Problem(f"{_LOSS}.policy_loss_mode", f"{mode}, but distillation has one policy loss", "vanilla")
    if loss == "k1" and not facts.get(f"{_LOSS}.use_policy_gradient"):
        message = "k1 without use_policy_gradient has a gradient that does not depend on the teacher"
        yield Problem(f"{_LOSS}.loss_mode", message, "k3, or use_policy_gradient: true")
    pool = number(facts, "distillation.n_gpus_per_node") * number(facts, "distillation.nnodes")
    if pool <= 0:
        yield Problem("distillation.nnodes", "the teachers have no devices", "nnodes and n_gpus_per_node above 0")
    else:
        yield from _teachers(facts, int(pool), loss)


def _teachers(facts: Facts, pool: int, loss: str) -> Iterator[Problem]:
    models = facts["distillation.teacher_models"]
    named = {name: node for name, node in models.items() if name != "teacher_model"} or models
    taken = 0
    for name, teacher in named.items():
        key, inference = f"distillation.teacher_models.{name}", teacher.get("inference") or {}
        if not teacher.get("model_path"):
            yield Problem(f"{key}.model_path", "null, but a teacher is a model", "the path of its folder")
        if len(named) > 1 and not teacher.get("key"):
            yield Problem(f"{key}.key", "null, but rows find their teacher among several by its key", "a name")
        sizes = ("tensor_model_parallel_size", "data_parallel_size", "pipeline_model_parallel_size")
        replica = 1
        for size in sizes:
            replica *= int(inference.get(size) or 1)
        taken += replica * int(teacher.get("num_replicas") or 0)
        if len(named) == 1 and "teacher_model" in named and pool % replica:
            message = f"{show(replica)} devices of a replica do not divide the teacher's {show(pool)}"
            yield Problem(f"{key}.inference.tensor_model_parallel_size", message)
        yield from _teacher_engine(facts, f"{key}.inference", inference, loss)
    if len(named) > 1 and taken != pool:
        message = f"the teachers' replicas take {show(taken)} devices, but {show(pool)} are theirs"
        yield Problem("distillation.teacher_models", message, "num_replicas that fill them")


def _teacher_engine(facts: Facts, key: str, inference: Mapping[str, Any], loss: str) -> Iterator[Problem]:
    context = inference.get("max_model_len")
    needed = whole(facts, f"{ROLLOUT}.prompt_length") + whole(facts, f"{ROLLOUT}.response_length") + 1
    if isinstance(context, int) and context < needed:
        message = (
            f"{show(context)} tokens, but a teacher reads prompt and response and writes one token: {show(needed)}"
        )
        yield Problem(f"{key}.max_model_len", message, show(needed))
    wanted, offers = facts.get(f"{_LOSS}.topk"), facts.get(f"{key}.engine_kwargs.vllm.max_logprobs")
    if loss == "forward_kl_topk" and wanted is None:
        yield Problem(f"{_LOSS}.topk", "null, but forward_kl_topk compares the most likely tokens", "32")
    elif loss == "forward_kl_topk" and isinstance(offers, int) and isinstance(wanted, int) and offers < wanted:
        message = f"{show(offers)}, but the loss compares topk {show(wanted)} tokens"
        yield Problem(f"{key}.engine_kwargs.vllm.max_logprobs", message, show(wanted))


@rule(VALUE_RULES, "ARL549", "Setting of the model that verl refuses", "error")
def model_settings(facts: Facts) -> Iterator[Problem]:
    """`model.target_modules` says which layers get LoRA adapters: a text, or a list of texts.

    `HFModelConfig.__post_init__` in `verl/workers/config/model.py` checks it in the trainer and in each worker, and
    that `config.json` names exactly one architecture. `lora_rank` is at most 512 for vLLM.
    """
    modules = facts.get(f"{MODEL}.target_modules")
    texts = isinstance(modules, list) and all(isinstance(one, str) for one in modules)
    if modules is not None and not isinstance(modules, str) and not texts:
        yield Problem(f"{MODEL}.target_modules", f"{show(modules)} is neither a text nor a list of texts", "all-linear")
    rank = facts.get(f"{MODEL}.lora_rank")
    if facts.get(f"{ROLLOUT}.name") == "vllm" and isinstance(rank, int) and rank > 512:
        yield Problem(f"{MODEL}.lora_rank", f"{show(rank)}, but vLLM takes at most 512", "512")


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
