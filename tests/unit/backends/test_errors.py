from __future__ import annotations

import pickle

import pytest

from agentic_rl.backends import errors

STANDARD = {
    errors.BackendUnavailableError: ImportError,
    errors.DataError: ValueError,
    errors.CheckpointError: ValueError,
    errors.SaveError: OSError,
    errors.RunFolderBusyError: BlockingIOError,
    errors.FailedRolloutsError: RuntimeError,
    errors.DivergedError: ArithmeticError,
    errors.NativeConfigError: ValueError,
    errors.ClusterError: ConnectionError,
    errors.StartTimeoutError: TimeoutError,
    errors.WorkerLostError: RuntimeError,
    errors.WeightTransferError: ConnectionError,
    errors.JobFailedError: RuntimeError,
    errors.InstanceError: LookupError,
    errors.StaleSamplesError: RuntimeError,
}


def test_every_error_is_in_the_table() -> None:
    family = {
        kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.TrainingError)
    }
    assert family == {errors.TrainingError, *STANDARD}


@pytest.mark.parametrize(("kind", "standard"), STANDARD.items())
def test_an_error_is_what_it_refines_and_survives_a_process(
    kind: type[errors.TrainingError], standard: type[Exception]
) -> None:
    error = kind("what is wrong", "what to do")
    assert isinstance(error, standard)
    copy = pickle.loads(pickle.dumps(error))
    assert (type(copy), copy.message, copy.hint) == (kind, "what is wrong", "what to do")
    assert str(copy) == "what is wrong\n    fix: what to do"


def test_an_error_without_a_remedy_is_one_line() -> None:
    assert str(errors.SaveError("what is wrong")) == "what is wrong"
