"""What an agent instance keeps of its runs: `trajectory_save_dir`."""

from __future__ import annotations

import logging
from pathlib import Path

from agentic_rl.agents.trajectory import Trajectory
from agentic_rl.config.writing import make_folder
from agentic_rl.rollout.trajectory_record import trajectory_record
from agentic_rl.serve.agents.call import AgentCall
from agentic_rl.serve.agents.events import plain
from agentic_rl.serve.settings import AgentInstance
from agentic_rl.tracking import LineFile

_LOGGER = logging.getLogger(__name__)


class Records:
    """A file of JSON lines in the form of trajectories.jsonl; `step` is the call's `iteration`."""

    def __init__(self, path: Path) -> None:
        self._file = LineFile(path)
        self._failed = False

    @classmethod
    def of(cls, instance: AgentInstance, executor: int = 0) -> Records | None:
        """Open the file of one executor; None where the instance keeps nothing.

        A path that ends in `.jsonl` is the file of the first executor, and those of the others are numbered beside it;
        any other path is a folder.

        Raises:
            OSError: it can't be written.
        """
        if not instance.trajectories:
            return None
        path = Path(instance.trajectories).absolute()
        if path.suffix == ".jsonl":
            path = path.with_name(f"{path.stem}-{executor}.jsonl") if executor else path
        else:
            path = path / f"{instance.name.replace('/', '_')}-{executor}.jsonl"
        make_folder(path.parent)
        return cls(path)

    def keep(self, call: AgentCall, trajectory: Trajectory) -> None:
        """Write one run. A full disk ends no run: it is told once."""
        record = plain(trajectory_record(trajectory, call.task(), call.iteration))
        try:
            self._file.write({**record, "sample_id": call.sample_id})
            self._file.flush()
        except OSError as error:
            if not self._failed:
                _LOGGER.error("%s can't be written, so runs are not kept: %s", self._file.path, error)
            self._failed = True

    def close(self) -> None:
        """Close the file."""
        try:
            self._file.close()
        except OSError as error:
            _LOGGER.warning("%s: %s", self._file.path, error)
