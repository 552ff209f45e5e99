"""What training with the local backend would do, in words. Needs no torch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agentic_rl.backends.base import Plan
from agentic_rl.backends.local.checkpoint_store import Checkpoint
from agentic_rl.backends.local.devices import ENVIRONMENT
from agentic_rl.backends.local.progress import Progress
from agentic_rl.backends.local.settings import evaluation_due, local_section, resolved
from agentic_rl.backends.run_folder import CONFIG, CURVE, METRICS, TENSORBOARD, TRAJECTORIES, VERSIONS, run_path
from agentic_rl.config.memory import estimate, why_no_estimate

if TYPE_CHECKING:
    from agentic_rl.config.load import Loaded


@dataclass(frozen=True)
class Start:
    """Where a run would begin."""

    checkpoint: Checkpoint | None
    """The newest whole one."""
    finished: bool
    """Whether nothing is left to do after it."""
    skipped: Sequence[str] = ()
    """A warning for each newer checkpoint that is torn."""


def describe(loaded: Loaded, total: int, start: Start) -> Plan:
    """The plan of a run of `total` steps from `start`."""
    config, known = loaded.require_flat(), {**loaded.values, **loaded.facts}
    section = local_section(config)
    folder = run_path(section.project_name, section.experiment_name)
    written = [METRICS, TRAJECTORIES, CURVE, CONFIG, VERSIONS, *([TENSORBOARD] if config.use_tensorboard else [])]
    return Plan(
        backend="local",
        steps=[*start.skipped, *_steps(loaded, total, start)],
        native_configuration=resolved(config),
        environment=ENVIRONMENT,
        processes=[f"this one, with {section.threads} thread{'s' * (section.threads > 1)} for tensor operations"],
        devices=[config.device],
        memory=estimate(known),
        no_memory=why_no_estimate(known),
        reads=[checked.path for checked in loaded.checked.values()],
        writes=[str(folder / name) for name in written] + [str(folder / "global_step_N")],
    )


def _steps(loaded: Loaded, total: int, start: Start) -> list[str]:
    if loaded.require_flat().evaluates_only:
        return _evaluation_only(loaded, start.checkpoint)
    if start.checkpoint is None:
        return _training(loaded, total)
    path, step = start.checkpoint.path, start.checkpoint.step
    if start.finished:
        return [f"nothing: already finished, {path} has all {total} steps"]
    if step >= total:
        return [f"go on from {path} at step {step}, the last: only its evaluation is left"]
    return [f"go on from {path} at step {step}", *_remaining(loaded, total, start.checkpoint)]


def _evaluation_only(loaded: Loaded, checkpoint: Checkpoint | None) -> list[str]:
    section = local_section(loaded.require_flat())
    return [
        f"load {checkpoint.path}" if checkpoint else "load the untrained model: there is no checkpoint yet",
        f"evaluate it greedily on {section.val_files}, {section.val_batch_size} prompts at a time",
    ]


def _training(loaded: Loaded, total: int) -> list[str]:
    config = loaded.require_flat()
    section = local_section(config)
    folder = run_path(section.project_name, section.experiment_name)
    steps = [f"begin: there is no whole checkpoint in {folder}"]
    if section.sft_files is not None:
        steps.append(
            f"warm up on {section.sft_files}: {section.sft_steps} steps of {section.sft_batch_size} conversations"
        )
    if evaluation_due(config, 0, total):
        steps.append(f"evaluate on {section.val_files} before the first step")
    return [*steps, *_training_steps(loaded, total)]


def _remaining(loaded: Loaded, total: int, checkpoint: Checkpoint) -> list[str]:
    """What is left after `checkpoint`; it may lack the evaluation that its step is due."""
    config = loaded.require_flat()
    evaluated = Progress.read(checkpoint.path).evaluated == checkpoint.step
    due = not evaluated and evaluation_due(config, checkpoint.step, total)
    first = [f"evaluate on {local_section(config).val_files} before the next step"] if due else []
    return [*first, *_training_steps(loaded, total - checkpoint.step)]


def _training_steps(loaded: Loaded, count: int) -> list[str]:
    config = loaded.require_flat()
    section = local_section(config)
    samples = section.train_batch_size * config.rollout_n
    steps = [
        f"train {count} step{'s' * (count > 1)}; "
        f"each rolls out {section.train_batch_size} prompts {config.rollout_n} times "
        f"({samples} samples) and updates the policy by mini batches of {section.effective_ppo_mini_batch_size} prompts"
    ]
    if section.test_freq > 0:
        steps.append(f"evaluate every {section.test_freq} steps and after the last")
    steps.append(
        f"write a checkpoint ({', '.join(section.ckpt_content)}) every {section.save_freq} steps and after the last; "
        f"keep the newest {config.keep_checkpoints}"
    )
    return steps
