"""Where a configuration's run lies, and how often it saves: of each format, as far as the values could be read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentic_rl.backends.run_folder import run_path

if TYPE_CHECKING:
    from agentic_rl.config.load import Loaded

ROOT = "checkpoints"
"""Below the current folder."""
_TRAINER = "verl_conf.trainer"


@dataclass(frozen=True)
class RunPlace:
    """The folder of a run."""

    path: Path
    project: str
    experiment: str
    save_freq: int | None
    """Steps from one checkpoint to the next; -1: none is saved; None: not known."""

    @property
    def root(self) -> Path:
        """What holds the folders of all projects."""
        return self.path.parent.parent

    @property
    def is_usual(self) -> bool:
        """Whether the path ends with project and experiment, so that nothing else lies in it."""
        return self.path.parts[-2:] == (self.project, self.experiment)


def place_of(loaded: Loaded) -> RunPlace | None:
    """The place of a configuration's run; None where it trains nothing, or has no names."""
    values = loaded.values
    if loaded.format == "flat":
        backend = values.get("train_backend")
        return _place(values, f"{backend}.project_name", f"{backend}.experiment_name", f"{backend}.save_freq")
    if values.get("agentic_ai.mode") == "serve":
        return None
    found = _place(values, *(f"{_TRAINER}.{name}" for name in ("project_name", "experiment_name", "save_freq")))
    given = values.get(f"{_TRAINER}.default_local_dir") if f"{_TRAINER}.default_local_dir" in loaded.sources else None
    if found and isinstance(given, str) and given:
        return RunPlace(Path(given).absolute(), found.project, found.experiment, found.save_freq)
    return found


def _place(values: Mapping[str, Any], project: str, experiment: str, saved: str) -> RunPlace | None:
    names = values.get(project), values.get(experiment)
    if not all(isinstance(name, str) and name for name in names):
        return None
    freq = values.get(saved)
    return RunPlace(run_path(str(names[0]), str(names[1])), str(names[0]), str(names[1]), freq)
