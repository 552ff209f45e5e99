from __future__ import annotations

from typing import Any

import pytest

from agentic_rl.backends.errors import JobFailedError, SaveError, WeightTransferError, WorkerLostError
from agentic_rl.backends.verl.messages import GENERAL, LONGEST, explained, first_cause

TRACE = 'ray::A.run() (pid=7)\n  File "/a.py", line 3, in run\n    work()\n    ^^^^^^\n'


class WrappedError(Exception):
    """As Ray wraps what a process raised."""

    def __init__(self, cause: Any, text: str = TRACE) -> None:
        super().__init__(text)
        self.cause = cause


class ActorDiedError(Exception):
    """Named as Ray's."""


class OutOfMemoryError(RuntimeError):
    """Named as Ray's and torch's."""


def caused(error: Exception, cause: Exception) -> Exception:
    error.__cause__ = cause
    return error


def test_the_first_cause_is_below_all_wrappers() -> None:
    first = KeyError("x")
    assert first_cause(WrappedError(WrappedError(caused(ValueError("of it"), first)))) is first


def test_a_chain_that_bites_its_tail_ends() -> None:
    one, two = ValueError("1"), ValueError("2")
    one.__cause__, two.__cause__ = two, one
    assert first_cause(one) in {one, two}


def test_our_own_errors_come_through_as_they_are() -> None:
    error = WeightTransferError("no weights", "look")
    assert explained(WrappedError(caused(RuntimeError("step failed"), error))) is error


def test_verls_words_are_shown_on_one_line() -> None:
    error = explained(WrappedError(ValueError("1 validation error\n  Sleep mode is not supported\n  see the page")))
    assert isinstance(error, JobFailedError)
    assert error.message == ("verl failed: ValueError: 1 validation error Sleep mode is not supported see the page")
    assert error.hint == GENERAL


def test_an_error_without_words_still_has_its_name() -> None:
    assert explained(AssertionError()).message == "verl failed: AssertionError: (no message)"


def test_pages_of_text_are_cut() -> None:
    assert len(explained(ValueError("word " * 1000)).message) < LONGEST + 50


def test_a_remote_traceback_is_told_by_its_end() -> None:
    text = f"The actor died because of an error raised in its creation task, {TRACE}ValueError: first\n  second\n"
    error = explained(WrappedError(ActorDiedError(text)))
    assert isinstance(error, JobFailedError)
    assert error.message == "verl failed: ValueError: first second"


def test_an_error_that_could_not_be_sent_is_told_by_its_traceback() -> None:
    error = explained(
        WrappedError(RuntimeError("The original cause isn't serializable"), f"{TRACE}mine.BadError: a lock\n")
    )
    assert error.message == "verl failed: mine.BadError: a lock"


def test_a_dead_actor_is_a_lost_process() -> None:
    text = (
        "The actor died unexpectedly before finishing this task.\n\tclass_name: WorkerDict\n\tactor_id: 5f\n\tpid: 31\n"
        "The actor is dead. End of file. Some common causes include: (1) the OOM killer"
    )
    error = explained(WrappedError(ActorDiedError(text)))
    assert isinstance(error, WorkerLostError)
    assert error.message == "a process of the job died: WorkerDict (process 31): The actor is dead. End of file."
    assert "most often the system killed it for memory" in error.hint


def test_memory_that_ray_ran_out_of_is_a_lost_process() -> None:
    error = explained(OutOfMemoryError("5 worker(s) were killed due to the node running low on memory"))
    assert isinstance(error, WorkerLostError)
    assert error.hint.startswith("free memory on the node")


def test_memory_of_a_device_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(OutOfMemoryError, "__module__", "torch")
    error = explained(OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB"))
    assert isinstance(error, JobFailedError)
    assert "ppo_max_token_len_per_gpu" in error.hint


@pytest.mark.parametrize(
    "cause",
    [
        OSError(28, "No space left on device"),
        OSError(122, "Disk quota exceeded"),
        RuntimeError("[enforce fail at inline_container.cc:783] . PytorchStreamWriter failed writing file data/0"),
        RuntimeError("[enforce fail at inline_container.cc:672] . unexpected pos 13056 vs 12948"),
    ],
)
def test_a_full_disk_is_told_as_such(cause: Exception) -> None:
    error = explained(WrappedError(cause))
    assert isinstance(error, SaveError)
    assert "make room" in error.hint


@pytest.mark.parametrize(
    ("text", "remedy"),
    [
        ("No available memory for the cache blocks.", "larger gpu_memory_utilization"),
        ("Free memory on device (1/80 GiB) is less than desired", "smaller gpu_memory_utilization"),
        ("Weight w(...) is too large to fit in the bucket.", "update_weights_bucket_megabytes"),
        ("[Errno 98] Address already in use", "doctor"),
    ],
)
def test_known_failures_have_a_remedy(text: str, remedy: str) -> None:
    assert remedy in explained(RuntimeError(text)).hint
