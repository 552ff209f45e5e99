"""What can go wrong while training. Each class also is the standard class that it refines, and can be pickled."""

from __future__ import annotations

from typing import Any


class TrainingError(RuntimeError):
    """An expected failure of a job: the value and the rule in `message`, the remedy in `hint`."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message, hint)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}\n    fix: {self.hint}" if self.hint else self.message

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.message, self.hint)


class BackendUnavailableError(TrainingError, ImportError):
    """The chosen backend is not part of this installation."""


class NativeConfigError(TrainingError, ValueError):
    """A backend's own configuration can't be made: the installed backend lacks a template or a key."""


class DataError(TrainingError, ValueError):
    """A data file changed or broke after it was checked."""


class CheckpointError(TrainingError, ValueError):
    """A whole checkpoint that this configuration can't go on from."""


class SaveError(TrainingError, OSError):
    """The run's folder can't be written or read: a full disk, a quota, a lost mount, another owner."""


class RunFolderBusyError(TrainingError, BlockingIOError):
    """Another process is training in the same folder."""


class StopRequestedError(Exception):
    """A person or the system asked the run to stop."""

    def __init__(self, step: int | None = None) -> None:
        super().__init__(step)
        self.step = step
        """The last whole step, where a checkpoint of it was saved for the stop."""

    def __str__(self) -> str:
        return "the run was asked to stop" + ("" if self.step is None else f"; step {self.step} is saved")


class FailedRolloutsError(TrainingError):
    """More rollouts of one step failed than `max_failed_fraction` allows."""


class StaleSamplesError(TrainingError):
    """A sample of older weights than the run allows reached the trainer."""


class DivergedError(TrainingError, ArithmeticError):
    """The loss or a gradient is not a finite number; the batch was saved."""


class ClusterError(TrainingError, ConnectionError):
    """Ray can't be started, can't be joined, or lacks what the run needs."""


class StartTimeoutError(TrainingError, TimeoutError):
    """The job did not begin to train within the limit."""


class WorkerLostError(TrainingError):
    """A process of the job died: killed for memory, by the system or by a person."""


class WeightTransferError(TrainingError, ConnectionError):
    """The engine could not take the policy's new weights."""


class JobFailedError(TrainingError):
    """A backend's own program failed; the message is its cause."""


class InstanceError(TrainingError, LookupError):
    """A configuration has no instance of the name that was asked for, or it is not clear which one is meant."""
