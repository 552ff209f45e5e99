"""What training with verl would do, in words. Needs neither verl nor Ray."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from agentic_rl.backends.base import Plan
from agentic_rl.backends.run_folder import CONFIG, CURVE, METRICS, TENSORBOARD, TRAJECTORIES, VERSIONS, run_path
from agentic_rl.backends.verl.checkpoints import Checkpoint
from agentic_rl.backends.verl.cluster import ADDRESS, named_address
from agentic_rl.backends.verl.folder import AGENT_LOOPS, NATIVE
from agentic_rl.backends.verl.job import total_steps
from agentic_rl.backends.verl.mapping import verl_section
from agentic_rl.config.memory import estimate, why_no_estimate

if TYPE_CHECKING:
    from agentic_rl.config.flat import FlatConfig, VerlSection
    from agentic_rl.config.load import Loaded


def describe(
    loaded: Loaded,
    native: Mapping[str, Any],
    given: Sequence[str],
    environment: Mapping[str, str],
    checkpoint: Checkpoint | None,
) -> Plan:
    """The plan of a run from `checkpoint`.

    Args:
        loaded: the checked file.
        native: verl's complete configuration, which `agentic-rl render` prints.
        given: what of it is not verl's own default, as overrides; the plan shows these.
        environment: the variables of the job's processes.
        checkpoint: where the run begins; None: at the beginning.
    """
    config, section = loaded.require(), verl_section(loaded.require())
    folder = run_path(section.project_name, section.experiment_name)
    written = [METRICS, TRAJECTORIES, CURVE, CONFIG, VERSIONS, AGENT_LOOPS, NATIVE]
    written += [TENSORBOARD] * config.use_tensorboard
    known = {**loaded.values, **loaded.facts}
    return Plan(
        backend="verl",
        steps=_steps(loaded, checkpoint),
        native_configuration=dict(_split(one) for one in given),
        environment=environment,
        processes=_processes(config, section, native),
        devices=[
            f"{config.num_gpus_per_node} ({native['trainer']['device']}) on each of "
            f"{section.nnodes} node{'s' * (section.nnodes > 1)}"
        ],
        memory=estimate(known),
        no_memory=why_no_estimate(known),
        reads=[checked.path for checked in loaded.checked.values()],
        writes=[str(folder / name) for name in [*written, "global_step_N"]],
    )


def _split(override: str) -> tuple[str, str]:
    name, _, value = override.partition("=")
    return name, value


def _processes(config: FlatConfig, section: VerlSection, native: Mapping[str, Any]) -> list[str]:
    devices = config.num_gpus_per_node * section.nnodes
    engines = devices // config.infer_tensor_parallel_size
    refers = section.use_kl_loss or config.use_kl_in_reward
    loops = native["actor_rollout_ref"]["rollout"]["agent"]["num_workers"]
    return [
        _ray(section.nnodes),
        "1 task runner (verl's trainer)",
        f"{devices} worker{'s' * (devices > 1)} (actor{', reference' * refers}, one a device)",
        f"{engines} vLLM engine{'s' * (engines > 1)} with tensor parallelism {config.infer_tensor_parallel_size}",
        f"{loops} agent loop worker{'s' * (loops > 1)}, {config.n_parallel_agents} rollouts in flight in all",
    ]


def _ray(nodes: int) -> str:
    address = named_address(os.environ)
    if address:
        return f"Ray: the cluster at {address} ({ADDRESS})"
    if nodes > 1:
        return f"Ray: none: {nodes} nodes need a cluster that {ADDRESS} names, and it is not set"
    return "Ray: one of its own on 127.0.0.1"


def _steps(loaded: Loaded, checkpoint: Checkpoint | None) -> list[str]:
    config, section = loaded.require(), verl_section(loaded.require())
    total, done = total_steps(loaded), checkpoint.step if checkpoint else 0
    begin = f"go on from {checkpoint.path} at step {done}" if checkpoint else "begin: there is no checkpoint"
    evaluation = f"evaluate on {section.val_files}, {section.val_batch_size} prompts at a time"
    if config.evaluates_only:
        return [begin, evaluation]
    if total is not None and done >= total:
        return [f"nothing: already finished, {checkpoint.path if checkpoint else ''} has all {total} steps"]
    samples = section.train_batch_size * config.rollout_n
    count = "as many steps as the data gives" if total is None else f"{total - done} steps"
    return [
        begin,
        *([f"{evaluation}, before the first step"] if config.evaluates_before_training else []),
        f"train {count}; each rolls out {section.train_batch_size} prompts {config.rollout_n} times "
        f"({samples} rollouts) and updates the policy by mini batches of "
        f"{section.effective_ppo_mini_batch_size} prompts",
        *([f"evaluate every {section.test_freq} steps and after the last"] if section.test_freq > 0 else []),
        f"write a checkpoint ({', '.join(section.ckpt_content)}) every {section.save_freq} steps and after the last; "
        f"keep the newest {config.keep_checkpoints}",
    ]
