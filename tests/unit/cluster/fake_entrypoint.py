"""The entrypoint of direct mode with a trainer that only tells what it was given; run as a program."""

from __future__ import annotations

import functools
import logging
import os
import signal
import sys
import time
from pathlib import Path

import agentic_rl.backends
import agentic_rl.config.load
from agentic_rl.backends.base import TrainResult
from agentic_rl.backends.errors import TrainingError
from agentic_rl.cluster import entrypoint
from agentic_rl.config.diagnostics import Finding, Report
from agentic_rl.config.load import load
from agentic_rl.config.loaded import Loaded


class FakeTrainer:
    def __init__(self, loaded: Loaded, instance: str) -> None:
        self.loaded, self.instance = loaded, instance

    def check(self) -> Report:
        return Report([Finding("ARL551", "note", "verl_conf", "told by the trainer")])

    def fit(self) -> TrainResult:
        project = self.loaded.require_aura().verl_conf
        print(f"training {self.instance} as {project.trainer.project_name if project else ''}")
        logging.getLogger("agentic_rl.some").info("told")
        logging.getLogger("agentic_rl.some").warning("warned")
        print("levels", os.environ["VERL_LOGGING_LEVEL"], os.environ["VLLM_LOGGING_LEVEL"])
        if self.instance.startswith("BAD"):
            raise TrainingError("it broke", "mend it")
        if self.instance.startswith("SLOW"):
            stopped: list[int] = []
            signal.signal(signal.SIGTERM, lambda number, frame: stopped.append(number))
            Path("up").touch()
            while not stopped:
                time.sleep(0.02)
            return TrainResult(1, "interrupted")
        return TrainResult(1, "finished")


agentic_rl.backends.trainer_for = FakeTrainer  # type: ignore[assignment]
agentic_rl.config.load.load = functools.partial(load, files=False)  # the files that it names are nowhere

if __name__ == "__main__":
    sys.exit(entrypoint.main())
