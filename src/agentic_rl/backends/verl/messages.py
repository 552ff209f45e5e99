"""A failure inside verl as one error: the first cause in Ray's chain of them, in its own words."""

from __future__ import annotations

import re

from agentic_rl.backends.errors import JobFailedError, SaveError, TrainingError, WorkerLostError
from agentic_rl.backends.verl.supervision import lost

GENERAL = "the logs have the whole story"
REMEDIES = (
    (
        r"CUDA out of memory|NPU out of memory|OutOfMemoryError",
        "smaller ppo_max_token_len_per_gpu, max_num_seqs or gpu_memory_utilization, or fsdp_optimizer_offload: true",
    ),
    (
        r"No available memory for the cache blocks|larger than the available KV cache",
        "larger gpu_memory_utilization, or smaller max_model_len",
    ),
    (r"Free memory on device", "smaller gpu_memory_utilization, or end what else uses the device"),
    (r"too large to fit in the bucket", "a larger `update_weights_bucket_megabytes` for the engine"),
    (
        r"Address already in use|No available port",
        "end what holds the port (`agentic-rl doctor` looks at ports), or start again",
    ),
)
"""What verl, vLLM and torch say -> what to do about it."""
NO_ROOM = re.compile(r"\[Errno (28|122)\]|No space left on device|file write failed|PytorchStreamWriter failed")


def explained(error: BaseException) -> TrainingError:
    """The error that a user sees for `error`, which Ray raised for a job."""
    cause = first_cause(error)
    if isinstance(cause, TrainingError):
        return cause
    text = f"{type(cause).__name__}: {_last_line(cause)}"
    if _is_death(cause):
        return WorkerLostError(*lost(text))
    if NO_ROOM.search(str(cause)):
        return SaveError(
            f"verl could not save: {text}",
            "make room on the disk; the same command goes on from the last whole checkpoint",
        )
    return JobFailedError(f"verl failed: {text}", _remedy(str(cause)))


def first_cause(error: BaseException) -> BaseException:
    """The error that began it: Ray wraps what a process raised, once for each process on its way."""
    seen: set[int] = set()
    while id(error) not in seen:
        seen.add(id(error))
        inner = getattr(error, "cause", None) or error.__cause__
        if not isinstance(inner, BaseException):
            break
        error = inner
    return error


def _remedy(text: str) -> str:
    return next((remedy for pattern, remedy in REMEDIES if re.search(pattern, text)), GENERAL)


def _is_death(error: BaseException) -> bool:
    return (
        type(error).__name__
        in {"ActorDiedError", "WorkerCrashedError", "OutOfMemoryError", "NodeDiedError", "ActorUnavailableError"}
        and "torch" not in type(error).__module__
    )


def _last_line(error: BaseException) -> str:
    """The last line that says something: a remote traceback ends with what was raised."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1] if lines else "(no message)"
