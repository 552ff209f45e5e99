"""verl's task runner with one of our trainers, in the process from which verl runs the job."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from omegaconf import OmegaConf
from verl.trainer.main_ppo import TaskRunnerV1

import agentic_rl.backends.verl.inside.separate_trainer
import agentic_rl.backends.verl.inside.trainer  # noqa: F401 - both register themselves with verl
from agentic_rl.backends.verl.inside.names import TRAINER, TRAINERS


def run(config: Mapping[str, Any], job: Mapping[str, Any]) -> None:
    """Run the job to its end.

    Args:
        config: verl's complete configuration, resolved; its trainer mode is one of `TRAINERS`.
        job: `JobOptions` as a dictionary.

    Raises:
        StopRequestedError: the job was asked to stop; what it had reached is saved.
        TrainingError: the job failed by a rule of ours.
        Exception: what verl raised.
    """
    native = OmegaConf.create(dict(config))
    native.trainer.v1.trainer_mode = TRAINERS[native.trainer.v1.trainer_mode]
    native.trainer.v1[TRAINER] = dict(job)
    TaskRunnerV1.__ray_metadata__.modified_class().run(native)
