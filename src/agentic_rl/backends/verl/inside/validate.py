"""verl's own checks of a configuration, all of them in one run: `python -m agentic_rl.backends.verl.inside.validate`.

The native configuration comes as JSON on standard input, the verdict goes as JSON to standard output. What verl and the
packages below it print meanwhile goes to standard error. Starting takes about five seconds, nearly all of it imports.

verl's driver stops at its first refusal, and its workers build their dataclasses only when they run. So the driver's
check is repeated with the part that it refused put right, and every node that a worker would build is built here.
"""

from __future__ import annotations

import contextlib
import copy
import json
import linecache
import math
import os
import re
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

Config = Any
"""An omegaconf DictConfig; verl's functions take nothing else."""
Refusal = dict[str, Any]
"""`step`: what was tried, the native node or `driver`; `type` and `message` of the exception; where it was raised:
`file`, `line` and `code`, as far as that is known."""

DRIVER = "driver"
_ACTOR, _REF, _ROLLOUT = (f"actor_rollout_ref.{name}" for name in ("actor", "ref", "rollout"))
_MOST_LINES = 4


def main() -> None:
    """Read a configuration, write the verdict: `{"refusals": [...]}`."""
    verdict = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    from omegaconf import OmegaConf

    refusals = all_refusals(OmegaConf.create(json.load(sys.stdin)))
    with verdict:
        json.dump({"refusals": refusals}, verdict)


def all_refusals(config: Config) -> list[Refusal]:
    """Everything in `config` that verl's driver, its trainer or its workers refuse, each refusal once."""
    found: list[Refusal] = []
    seen: set[tuple[str, str]] = set()
    for refusal in (*_of_driver(config), *_of_nodes(config)):
        # Numbers apart: what was put right for the next try shows in them.
        what = refusal["type"], re.sub(r"\d+", "#", refusal["message"] or refusal["code"])
        if what not in seen:
            seen.add(what)
            found.append(refusal)
    return found


def _of_driver(config: Config) -> Iterator[Refusal]:
    """The refusals of `validate_config`: one after the other, each time with one more family of keys put right."""
    from verl.trainer.ppo.utils import need_critic, need_reference_policy
    from verl.utils.config import validate_config

    config = copy.deepcopy(config)
    critic, reference = need_critic(config), need_reference_policy(config)
    # In the order in which validate_config looks at them.
    for put_right in (_as_it_is, _even_batch, _good_actor, _large_batch, _good_log_probs, _good_sampling, _no_lora):
        with contextlib.suppress(Exception):  # a value of another type can't be put right this way
            put_right(config)
        refusal = _tried(DRIVER, lambda: validate_config(config, reference, critic))
        if refusal is None:
            return
        yield refusal


def _as_it_is(config: Config) -> None:
    """The first try."""


def _even_batch(config: Config) -> None:
    devices = config.trainer.n_gpus_per_node * config.trainer.nnodes
    config.data.train_batch_size = math.ceil(config.data.train_batch_size / devices) * devices


def _large_batch(config: Config) -> None:
    devices = config.trainer.n_gpus_per_node * config.trainer.nnodes
    size = math.lcm(devices, config.actor_rollout_ref.actor.ppo_mini_batch_size)
    config.data.train_batch_size = math.ceil(config.data.train_batch_size / size) * size


def _good_log_probs(config: Config) -> None:
    for part in (config.actor_rollout_ref.rollout, config.actor_rollout_ref.ref):
        part.log_prob_micro_batch_size, part.log_prob_micro_batch_size_per_gpu = None, 1


def _good_actor(config: Config) -> None:
    actor = config.actor_rollout_ref.actor
    actor.ppo_micro_batch_size, actor.ppo_micro_batch_size_per_gpu = None, 1
    actor.loss_agg_mode = "token-mean"
    config.actor_rollout_ref.model.use_remove_padding = True
    if "optim" in actor and "lr_scheduler_type" in actor.optim:
        actor.optim.lr_scheduler_type, actor.optim.warmup_style = "constant", None


def _good_sampling(config: Config) -> None:
    config.actor_rollout_ref.rollout.temperature = 1.0


def _no_lora(config: Config) -> None:
    config.actor_rollout_ref.model.lora_rank = 0
    config.actor_rollout_ref.model.lora.rank = 0


def _of_nodes(config: Config) -> Iterator[Refusal]:
    """The refusals of the dataclasses that trainer and workers build, each tried by itself."""
    from omegaconf import OmegaConf
    from verl.trainer.ppo.reward import resolve_reward_manager_cls
    from verl.trainer.ppo.utils import need_critic, need_reference_policy
    from verl.utils.config import omega_conf_to_dataclass

    nodes = ["actor_rollout_ref.model", _ACTOR, _ROLLOUT, f"{_ROLLOUT}.checkpoint_engine"]
    nodes += ["critic"] if need_critic(config) else []
    nodes += ["distillation"] if OmegaConf.select(config, "distillation.enabled") else []
    if OmegaConf.select(config, "trainer.v1.trainer_mode") == "separate_async":
        nodes.append("trainer.v1.separate_async.hybrid_rollout")
    steps: dict[str, Callable[[], Any]] = {
        node: partial(omega_conf_to_dataclass, OmegaConf.select(config, node)) for node in nodes
    }
    if need_reference_policy(config):
        steps[_REF] = lambda: omega_conf_to_dataclass(_as_worker_sees(config))
    steps["reward.reward_manager"] = lambda: resolve_reward_manager_cls(config)
    for step, attempt in steps.items():
        refusal = _tried(step, attempt)
        if refusal:
            yield refusal


def _as_worker_sees(config: Config) -> Config:
    """The reference model's node under the names that its worker gives the keys before it builds the dataclass."""
    ref = copy.deepcopy(config.actor_rollout_ref.ref)
    for name in ("micro_batch_size", "micro_batch_size_per_gpu", "use_dynamic_bsz", "max_token_len_per_gpu"):
        worker_name = name if name == "use_dynamic_bsz" else f"ppo_{name}"
        ref[worker_name] = ref.pop(f"log_prob_{name}", False if name == "use_dynamic_bsz" else None)
    ref.ppo_mini_batch_size = config.actor_rollout_ref.actor.ppo_mini_batch_size
    return ref


def _tried(step: str, attempt: Callable[[], Any]) -> Refusal | None:
    try:
        attempt()
    except Exception as error:  # whatever it is, verl would stop with it
        return _refusal(step, _cause(error))
    return None


def _cause(error: BaseException) -> BaseException:
    """What verl raised, below the exception that hydra wraps around it."""
    while type(error).__module__.startswith("hydra.") and error.__cause__ is not None:
        error = error.__cause__
    return error


def _refusal(step: str, error: BaseException) -> Refusal:
    message = "\n".join(str(error).strip().splitlines()[:_MOST_LINES])
    refusal: Refusal = {"step": step, "type": type(error).__name__, "message": message}
    import verl

    packages = Path(verl.__file__).parents[1]
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if packages / "verl" in _parents(frame)]
    if not frames:
        return {**refusal, "file": "", "line": None, "code": ""}
    last = frames[-1]
    code = linecache.getline(last.filename, last.lineno or 0).strip()
    return {**refusal, "file": str(Path(last.filename).relative_to(packages)), "line": last.lineno, "code": code}


def _parents(frame: traceback.FrameSummary) -> Sequence[Path]:
    return Path(frame.filename).parents


if __name__ == "__main__":
    main()
