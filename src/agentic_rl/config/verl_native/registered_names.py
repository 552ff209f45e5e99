"""The names that the installed verl knows, of estimators, losses, trainers, engines: read from its source.

Importing verl takes four seconds and torch; the names stand in decorators and in a few literals. Where the source has
another shape than that of the supported versions, the names of 0.9.1 are taken.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

Names = frozenset[str]

KNOWN: dict[str, Names] = {
    "adv_estimators": frozenset(
        {
            "gae",
            "gdpo",
            "gpg",
            "grpo",
            "grpo_passk",
            "grpo_vectorized",
            "opo",
            "optimal_token_baseline",
            "reinforce_plus_plus",
            "reinforce_plus_plus_baseline",
            "remax",
            "rloo",
            "rloo_vectorized",
            "tir_optimal_token_baseline",
        }
    ),
    "policy_losses": frozenset(
        {
            "bypass_mode",
            "cispo",
            "clip_cov",
            "dppo_kl",
            "dppo_tv",
            "dro",
            "geo_mean",
            "gpg",
            "gspo",
            "kl_cov",
            "sapo",
            "vanilla",
        }
    ),
    "reward_managers": frozenset({"dapo", "gdpo", "naive", "rate_limited", "remote"}),
    "trainers": frozenset({"colocate_async", "separate_async", "sync"}),
    "rollouts": frozenset({"sglang", "trtllm", "vllm"}),
    "strategies": frozenset({"automodel", "fsdp", "fsdp2", "fsdp_turbo", "megatron", "torchtitan", "veomni"}),
    "kl_estimators": frozenset({"kl", "k1", "abs", "mse", "k2", "low_var_kl", "k3"}),
    "distillation_losses": frozenset({"forward_kl_topk", "kl", "k1", "abs", "mse", "k2", "low_var_kl", "k3"}),
}
"""Family -> the names of verl 0.9.1."""


@cache
def registered_names(verl: Path | None) -> dict[str, Names]:
    """Family -> names, those of the package folder `verl` where it can be read."""
    return {family: (_read(verl, family) if verl else None) or known for family, known in KNOWN.items()}


def _read(verl: Path, family: str) -> Names | None:
    """The names of a family, None where the source does not show any."""
    place, read = _SOURCES[family]
    trees = map(_parsed, sorted(verl.glob(place)))
    names = frozenset(name for tree in trees if tree is not None for name in read(tree))
    return names or None


def _parsed(path: Path) -> ast.Module | None:
    try:
        return ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return None


def _decorated(*registering: str) -> Callable[[ast.Module], Iterator[str]]:
    """Reads the first arguments of decorators called `registering`, `Enum.MEMBER` as the member's value."""

    def read(tree: ast.Module) -> Iterator[str]:
        members = dict(_members(tree))
        for node in ast.walk(tree):
            for decorator in getattr(node, "decorator_list", ()):
                if isinstance(decorator, ast.Call) and _name(decorator.func) in registering and decorator.args:
                    yield from _texts(decorator.args[0], members)

    return read


def _engines(tree: ast.Module) -> Iterator[str]:
    """Reads `@EngineRegistry.register(model_type="language_model", backend=...)`."""
    for node in ast.walk(tree):
        for decorator in getattr(node, "decorator_list", ()):
            if isinstance(decorator, ast.Call) and _name(decorator.func) == "register":
                keywords = {keyword.arg: keyword.value for keyword in decorator.keywords}
                if "backend" in keywords and "language_model" in _texts(keywords.get("model_type")):
                    yield from _texts(keywords["backend"])


def _rollouts(tree: ast.Module) -> Iterator[str]:
    """Reads the keys `(name, "async")` of the registry of rollout classes."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Dict):
            for key in node.keys:
                if isinstance(key, ast.Tuple) and "async" in (texts := [*_texts(key)]):
                    yield texts[0]


def _kl_estimators(tree: ast.Module) -> Iterator[str]:
    """Reads the names that `kl_penalty_forward` compares with, without those whose branch raises."""
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef) and function.name == "kl_penalty_forward":
            for branch in function.body:
                if isinstance(branch, ast.If) and not any(isinstance(one, ast.Raise) for one in branch.body):
                    yield from _texts(branch.test)


def _distillation_losses(tree: ast.Module) -> Iterator[str]:
    """Reads `DistillationLossSettings(names=[...])` in decorators."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _name(node.func) == "DistillationLossSettings":
            for keyword in node.keywords:
                if keyword.arg == "names":
                    yield from _texts(keyword.value)


def _members(tree: ast.Module) -> Iterator[tuple[str, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            for line in node.body:
                if isinstance(line, ast.Assign) and isinstance(line.value, ast.Constant):
                    yield from ((_name(target), str(line.value.value)) for target in line.targets)


def _texts(node: ast.expr | None, members: dict[str, str] | None = None) -> Iterator[str]:
    """The literal texts in an expression, from left to right."""
    if isinstance(node, ast.Attribute) and members and node.attr in members:
        yield members[node.attr]
    elif isinstance(node, ast.Constant):
        yield from [node.value] if isinstance(node.value, str) else []
    elif node is not None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                yield from _texts(child, members)


def _name(node: ast.expr) -> str:
    """The last part of a dotted name."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


_SOURCES: dict[str, tuple[str, Callable[[ast.Module], Iterator[str]]]] = {
    "adv_estimators": ("trainer/ppo/core_algos.py", _decorated("register_adv_est")),
    "policy_losses": ("trainer/ppo/core_algos.py", _decorated("register_policy_loss")),
    "reward_managers": ("experimental/reward_loop/reward_manager/*.py", _decorated("register", "register_manager")),
    "trainers": ("trainer/ppo/v1/*.py", _decorated("register_trainer")),
    "rollouts": ("workers/rollout/base.py", _rollouts),
    "strategies": ("workers/engine/*/*.py", _engines),
    "kl_estimators": ("trainer/ppo/core_algos.py", _kl_estimators),
    "distillation_losses": ("trainer/distillation/losses.py", _distillation_losses),
}
"""Family -> the files below the package that have its names, and what reads them."""
