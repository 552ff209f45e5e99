"""Values inside free mappings: sampling, options of engines, resources (ARL101, ARL102, ARL030, ARL250)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from difflib import get_close_matches
from typing import Any

from agentic_rl.config.aura.rules.facts import ENGINE, SAMPLING, items, native_nodes, page_of, trainings
from agentic_rl.config.fields.pages import NO_CHOICE, OUT_OF_RANGE, WRONG_TYPE
from agentic_rl.config.fields.wording import show
from agentic_rl.config.flat.group_rules import GROUPS
from agentic_rl.config.rules import Facts, Problem, Rule

ENGINES = ("vllm_proxy", "vllm_mp", "vllm_ray", "vllm_external")
"""Engines of inference instances; the last three were released since."""
LOGGERS = (
    *("console", "tensorboard", "wandb", "mlflow", "swanlab", "vemlp_wandb", "clearml", "trackio", "file"),
    *("rl_insight", "tracking"),
)
"""Loggers of verl 0.9.1; the last is an old name of wandb."""

Range = tuple[str, Callable[[float], bool], type]
_ABOVE_0: Range = ("a whole number greater than 0", lambda value: value > 0, int)
_SHARE: Range = ("a number greater than 0 and at most 1", lambda value: 0 < value <= 1, float)
_SAMPLING: dict[str, Range] = {
    "temperature": ("a number of at least 0", lambda value: value >= 0, float),
    "top_p": _SHARE,
    "top_k": ("-1 (all) or a whole number greater than 0", lambda value: value == -1 or value > 0, int),
    "min_p": ("a number from 0 to 1", lambda value: 0 <= value <= 1, float),
    "max_tokens": _ABOVE_0,
    "n": _ABOVE_0,
}
_OPTIONS: dict[str, Range] = {
    "port": ("a whole number from 1 to 65535", lambda value: 0 < value < 1 << 16, int),
    "gpu_memory_utilization": _SHARE,
    "max_model_len": _ABOVE_0,
    "max_num_batched_tokens": _ABOVE_0,
    "max_num_seqs": _ABOVE_0,
    # 0: filled in by the launcher
    "tensor_parallel_size": ("a whole number of at least 0", lambda value: value >= 0, int),
    "data_parallel_size": ("a whole number of at least 0", lambda value: value >= 0, int),
    "pipeline_parallel_size": _ABOVE_0,
}


def _out_of_range(facts: Facts) -> Iterator[Problem]:
    yield from _judged(facts, of_type=True)


def _of_another_type(facts: Facts) -> Iterator[Problem]:
    yield from _judged(facts, of_type=False)


def _judged(facts: Facts, *, of_type: bool) -> Iterator[Problem]:
    """Values of the right type out of their range, or values of another type."""
    for key, value, (rule, holds, kind) in _values(facts):
        right = isinstance(value, (int, float) if kind is float else int) and not isinstance(value, bool)
        if right == of_type and not (right and holds(value)):
            yield Problem(key, f"{show(value)}; it must be {rule}", f"{key.rpartition('.')[2]}: {rule}")


def _values(facts: Facts) -> Iterator[tuple[str, Any, Range]]:
    places = [(f"{one}.{SAMPLING}", _SAMPLING) for one in items(facts, "agent_instances")]
    places += [(f"{one}.{ENGINE}", _OPTIONS) for one in items(facts, "infer_instances")]
    for node, ranges in places:
        for name, wanted in ranges.items():
            value = facts.get(f"{node}.{name}")
            if value is not None:
                yield f"{node}.{name}", value, wanted
    amount: Range = ("a number greater than 0", lambda value: value > 0, float)
    for section in ("train_instances", "agent_instances", "infer_instances"):
        for one in items(facts, section):
            for place in items(facts, f"{one}.resource_info"):
                yield from ((f"{place}.{name}", value, amount) for name, value in facts.get(place, {}).items())


def _engines(facts: Facts) -> Iterator[Problem]:
    for one in items(facts, "infer_instances"):
        key = f"{one}.executor_kwargs.engine"
        engine = facts.get(key)
        if isinstance(engine, str) and engine not in ENGINES:
            near = (get_close_matches(engine, ENGINES, 1, 0.5) or ENGINES)[0]
            message = f"{show(engine)} is no engine that is known here; known are {', '.join(ENGINES)}"
            yield Problem(key, message, f"engine: {near}", "warning")


def _loggers(facts: Facts) -> Iterator[Problem]:
    for node in native_nodes(facts):
        key = f"{node}.trainer.logger"
        names = facts.get(key)
        for name in names if isinstance(names, list) else []:
            if isinstance(name, str) and name not in LOGGERS:
                near = (get_close_matches(name, LOGGERS, 1, 0.5) or LOGGERS)[0]
                message = f"{show(name)} is no logger of verl 0.9.1, which does not start with it; it has "
                yield Problem(key, message + ", ".join(LOGGERS[:-1]), f"logger: [{near}]")


def _likeliest(facts: Facts) -> Iterator[Problem]:
    for one in trainings(facts):
        key, group = f"{one.agent}.{SAMPLING}.temperature", f"{one.native}.actor_rollout_ref.rollout.n"
        samples = facts.get(group)
        if one.agent and one.native and facts.get(key) == 0 and isinstance(samples, int) and samples > 1:
            message = f"0 takes the likeliest tokens, so that the {show(samples)} samples of a prompt are equal"
            yield Problem(key, message, "temperature: 1.0")


OPTIONS: list[Rule] = [
    Rule(WRONG_TYPE, _of_another_type),
    Rule(OUT_OF_RANGE, _out_of_range),
    Rule(NO_CHOICE, _engines),
    Rule(NO_CHOICE, _loggers),
    Rule(page_of(GROUPS, "ARL250"), _likeliest),
]
