"""What training with verl asks of a configuration, whichever format it was written in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from agentic_rl.config.diagnostics import Finding

if TYPE_CHECKING:
    from agentic_rl.backends.verl.checkpoints import Checkpoint
    from agentic_rl.backends.verl.inside.settings import RolloutSettings
    from agentic_rl.backends.verl.native_check import NativeFinding
    from agentic_rl.config.load import Loaded
    from agentic_rl.config.secure_paths import CheckedPath


EVERY = 1 << 30
"""`keep_checkpoints` of a run that removes none."""


@dataclass(frozen=True)
class Limits:
    """What the job obeys beyond verl's own configuration."""

    max_failed_fraction: float
    """Of the rollouts of one step."""
    keep_checkpoints: int
    start_limit: float
    """Seconds until it has to train."""
    stepwise: bool = False
    """Each turn of a trajectory is a sample of its own."""
    trajectories: str = ""
    """A file, absolute, to which rollouts are written as well."""


class VerlRun(Protocol):
    """One training run of a checked configuration."""

    @property
    def loaded(self) -> Loaded:
        """The file."""
        ...

    @property
    def project_name(self) -> str:
        """Of the run."""
        ...

    @property
    def experiment_name(self) -> str:
        """Of the run."""
        ...

    @property
    def folder(self) -> Path:
        """Where the run leaves everything, absolute."""
        ...

    @property
    def device(self) -> str:
        """npu, gpu or cpu."""
        ...

    def beginning(self) -> Checkpoint | None:
        """The checkpoint that it goes on from; None: it begins."""
        ...

    @property
    def limits(self) -> Limits:
        """See there."""
        ...

    @property
    def agent_name(self) -> str:
        """The agent of rows that name none."""
        ...

    @property
    def data(self) -> Mapping[str, CheckedPath]:
        """Key of a data file -> the file, as far as there are."""
        ...

    @property
    def train_rows(self) -> int | None:
        """Rows of the training data; None where they are not known."""
        ...

    @property
    def known(self) -> dict[str, Any]:
        """Values by the keys of the flat format, and what files tell, for the estimate of the memory."""
        ...

    def native(self) -> dict[str, Any]:
        """The complete configuration that verl reads.

        Raises:
            BackendUnavailableError: verl is not installed.
            NativeConfigError: the installed verl lacks the template or a key.
        """
        ...

    def overrides(self) -> list[str]:
        """What of it is not verl's own default, as arguments of verl's command; raises what `native` does."""
        ...

    def rollouts(self, workers: int) -> RolloutSettings:
        """What rollouts need to know in each of `workers` agent-loop workers."""
        ...

    def problems(self) -> Iterable[Finding]:
        """What is wrong on the way from the file to verl's configuration, before that is looked at as a whole."""
        ...

    def said_before(self, found: NativeFinding) -> bool:
        """Whether the report of the file says the same already."""
        ...

    def told(self, found: NativeFinding) -> Finding:
        """A finding about verl's configuration as one about the file."""
        ...

    def record(self) -> Mapping[str, Any]:
        """The configuration with its defaults, as it is left in the run's folder."""
        ...
