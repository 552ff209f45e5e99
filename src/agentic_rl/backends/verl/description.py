"""What training with verl would do, in words. Needs neither verl nor Ray."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from agentic_rl.backends.base import Plan
from agentic_rl.backends.run_folder import CONFIG, CURVE, METRICS, TENSORBOARD, TRAJECTORIES, VERSIONS
from agentic_rl.backends.verl.checkpoints import Checkpoint
from agentic_rl.backends.verl.environment import ADDRESS, named_address
from agentic_rl.backends.verl.folder import AGENT_LOOPS, NATIVE
from agentic_rl.backends.verl.job import evaluates_only, total_steps
from agentic_rl.backends.verl.run import EVERY
from agentic_rl.config.memory import estimate, why_no_estimate

if TYPE_CHECKING:
    from agentic_rl.backends.verl.run import VerlRun


FSDP = "dp"
"""verl's name of the training engine that estimates of the memory are for."""


def describe(
    run: VerlRun,
    native: Mapping[str, Any],
    given: Sequence[str],
    environment: Mapping[str, str],
    checkpoint: Checkpoint | None,
) -> Plan:
    """The plan of a run from `checkpoint`.

    Args:
        run: the checked file.
        native: verl's complete configuration, which `agentic-rl render` prints.
        given: what of it is not verl's own default, as overrides; the plan shows these.
        environment: the variables of the job's processes.
        checkpoint: where the run begins; None: at the beginning.
    """
    written = [METRICS, TRAJECTORIES, CURVE, CONFIG, VERSIONS, AGENT_LOOPS, NATIVE]
    written += [TENSORBOARD] * ("tensorboard" in native["trainer"]["logger"])
    writes = [str(run.folder / name) for name in [*written, "global_step_N"]]
    known = run.known if native.get("model_engine", FSDP) == FSDP else None
    return Plan(
        backend="verl",
        steps=_steps(run, native, checkpoint),
        native_configuration=dict(_split(one) for one in given),
        environment=environment,
        processes=_processes(run, native),
        devices=[devices(native)],
        memory=estimate(known) if known else None,
        no_memory=why_no_estimate(known) if known else f"no estimate for the engine {native['model_engine']}",
        reads=[checked.path for checked in {**run.loaded.checked, **run.data}.values()],
        writes=[*writes, run.limits.trajectories] if run.limits.trajectories else writes,
    )


def devices(native: Mapping[str, Any]) -> str:
    """How many, of which kind, on how many nodes."""
    trainer = native["trainer"]
    nodes = trainer["nnodes"]
    return f"{trainer['n_gpus_per_node']} ({trainer['device']}) on each of {nodes} node{'s' * (nodes > 1)}"


def _split(override: str) -> tuple[str, str]:
    name, _, value = override.partition("=")
    return name, value


def _processes(run: VerlRun, native: Mapping[str, Any]) -> list[str]:
    trainer, rollout = native["trainer"], native["actor_rollout_ref"]["rollout"]
    workers = trainer["n_gpus_per_node"] * trainer["nnodes"]
    parallel = rollout["tensor_model_parallel_size"]
    engines = workers // parallel
    refers = native["actor_rollout_ref"]["actor"]["use_kl_loss"] or native["algorithm"]["use_kl_in_reward"]
    loops = rollout["agent"]["num_workers"]
    in_flight = run.rollouts(1).n_parallel_agents
    return [
        _ray(trainer["nnodes"]),
        "1 task runner (verl's trainer)",
        f"{workers} worker{'s' * (workers > 1)} (actor{', reference' * bool(refers)}, one a device)",
        f"{engines} vLLM engine{'s' * (engines > 1)} with tensor parallelism {parallel}",
        f"{loops} agent loop worker{'s' * (loops > 1)}, {in_flight} rollouts in flight in all",
    ]


def _ray(nodes: int) -> str:
    address = named_address(os.environ)
    if address:
        return f"Ray: the cluster at {address} ({ADDRESS})"
    if nodes > 1:
        return f"Ray: none: {nodes} nodes need a cluster that {ADDRESS} names, and it is not set"
    return "Ray: one of its own on 127.0.0.1"


def _steps(run: VerlRun, native: Mapping[str, Any], checkpoint: Checkpoint | None) -> list[str]:
    trainer, data = native["trainer"], native["data"]
    total, done = total_steps(run, native), checkpoint.step if checkpoint else 0
    begin = f"go on from {checkpoint.path} at step {done}" if checkpoint else _begin(native)
    evaluation = f"evaluate on {held_out(native)}{_at_a_time(data)}"
    if evaluates_only(native):
        return [begin, evaluation]
    if total is not None and done >= total:
        return [f"nothing: already finished, {checkpoint.path if checkpoint else ''} has all {total} steps"]
    count = "as many steps as the data gives" if total is None else f"{total - done} steps"
    return [
        begin,
        *([f"{evaluation}, before the first step"] if trainer["val_before_train"] else []),
        f"train {count}; {_one_step(native)}",
        *([f"evaluate every {trainer['test_freq']} steps and after the last"] if trainer["test_freq"] > 0 else []),
        _saving(run, native),
    ]


def _begin(native: Mapping[str, Any]) -> str:
    disabled = native["trainer"]["resume_mode"] == "disable"
    return "begin: resume_mode is disable" if disabled else "begin: there is no checkpoint"


def held_out(native: Mapping[str, Any]) -> str:
    """The held-out data, in words."""
    files = native["data"]["val_files"]
    return ", ".join(map(str, files)) if isinstance(files, (list, tuple)) else str(files)


def _at_a_time(data: Mapping[str, Any]) -> str:
    size = data.get("val_batch_size")
    return f", {size} prompts at a time" if size else ", all prompts at once"


def _one_step(native: Mapping[str, Any]) -> str:
    prompts, copies = native["data"]["train_batch_size"], native["actor_rollout_ref"]["rollout"]["n"]
    return (
        f"each rolls out {prompts} prompts {copies} times ({prompts * copies} rollouts) and updates the policy by "
        f"mini batches of {native['actor_rollout_ref']['actor']['ppo_mini_batch_size']} prompts"
    )


def _saving(run: VerlRun, native: Mapping[str, Any]) -> str:
    frequency = native["trainer"]["save_freq"]
    if frequency <= 0:
        return "write no checkpoint (save_freq -1)"
    parts = ", ".join(native["actor_rollout_ref"]["actor"]["checkpoint"]["save_contents"])
    kept = f"keep the newest {run.limits.keep_checkpoints}" if run.limits.keep_checkpoints < EVERY else "keep all"
    return f"write a checkpoint ({parts}) every {frequency} steps and after the last; {kept}"
