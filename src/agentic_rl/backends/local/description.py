"""What training with the local backend would do, in words. Needs no torch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentic_rl.backends.base import Plan
from agentic_rl.backends.local.devices import ENVIRONMENT
from agentic_rl.backends.local.run_folder import CONFIG, CURVE, METRICS, TENSORBOARD, TRAJECTORIES, VERSIONS, run_path
from agentic_rl.backends.local.settings import evaluation_due, local_section, resolved
from agentic_rl.config.memory import estimate

if TYPE_CHECKING:
    from agentic_rl.config.load import Loaded


def describe(loaded: Loaded, total: int) -> Plan:
    """The plan of a run of `total` steps."""
    config = loaded.require()
    section = local_section(config)
    folder = run_path(section.project_name, section.experiment_name)
    written = [METRICS, TRAJECTORIES, CURVE, CONFIG, VERSIONS, *([TENSORBOARD] if config.use_tensorboard else [])]
    return Plan(
        backend="local",
        steps=_evaluation_only(loaded) if config.evaluates_only else _training(loaded, total),
        native_configuration=resolved(config),
        environment=ENVIRONMENT,
        processes=[f"this one, with {section.threads} thread{'s' * (section.threads > 1)} for tensor operations"],
        devices=[config.device],
        memory=estimate({**loaded.values, **loaded.facts}),
        reads=[checked.path for checked in loaded.checked.values()],
        writes=[str(folder / name) for name in written] + [str(folder / "global_step_N")],
    )


def _evaluation_only(loaded: Loaded) -> list[str]:
    section = local_section(loaded.require())
    folder = run_path(section.project_name, section.experiment_name)
    return [
        f"load the newest checkpoint in {folder}, or else the untrained model",
        f"evaluate it greedily on {section.val_files}, {section.val_batch_size} prompts at a time",
    ]


def _training(loaded: Loaded, total: int) -> list[str]:
    config = loaded.require()
    section = local_section(config)
    folder = run_path(section.project_name, section.experiment_name)
    samples = section.train_batch_size * config.rollout_n
    steps = [f"go on from the newest whole checkpoint in {folder}; if there is none, begin"]
    if section.sft_files is not None:
        steps.append(
            f"warm up on {section.sft_files}: {section.sft_steps} steps of {section.sft_batch_size} conversations"
        )
    if evaluation_due(config, 0, total):
        steps.append(f"evaluate on {section.val_files} before the first step")
    steps.append(
        f"train {total} steps; each rolls out {section.train_batch_size} prompts {config.rollout_n} times "
        f"({samples} samples) and updates the policy by mini batches of {section.effective_ppo_mini_batch_size} prompts"
    )
    if section.test_freq > 0:
        steps.append(f"evaluate every {section.test_freq} steps and after the last")
    steps.append(
        f"write a checkpoint ({', '.join(section.ckpt_content)}) every {section.save_freq} steps and after the last; "
        f"keep the newest {config.keep_checkpoints}"
    )
    return steps
