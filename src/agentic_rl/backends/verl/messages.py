"""A failure inside verl as one error: the first cause in Ray's chain of them, in its own words."""

from __future__ import annotations

import re

from agentic_rl.backends.errors import JobFailedError, SaveError, TrainingError, WorkerLostError
from agentic_rl.backends.verl.supervision import in_short, lost

LONGEST = 600
"""Characters of a cause that are shown: some texts of vLLM and pydantic have pages."""
PLACE = re.compile(r'^ +File ".*", line \d+.*$', re.MULTILINE)
"""A line of a traceback."""
FAILED_WHILE_MADE = "error raised in its creation task"
NOT_TO_BE_SENT = "isn't serializable"
"""Ray's words for an actor whose constructor raised, and for an error that could not be pickled."""
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
NO_ROOM = re.compile(
    r"\[Errno (28|122)\]|No space left on device|file write failed|PytorchStreamWriter failed"
    r"|inline_container\.cc.*unexpected pos"
)


def explained(error: BaseException) -> TrainingError:
    """The error that a user sees for `error`, which Ray raised for a job."""
    cause = first_cause(error)
    if isinstance(cause, TrainingError):
        return cause
    if _is_death(cause):
        return WorkerLostError(*lost(_death(str(cause))))
    text = _words(cause)
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
        if not isinstance(inner, BaseException) or NOT_TO_BE_SENT in str(inner):
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
        and FAILED_WHILE_MADE not in str(error)
    )


def _death(text: str) -> str:
    """Which process died, and of what: Ray's message has a line for each fact."""
    name, process = re.search(r"class_name: (\S+)", text), re.search(r"\bpid: (\d+)", text)
    who = f"{name[1]} (process {process[1] if process else '?'}): " if name else ""
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("\t")]
    return who + _cut(in_short(lines[-1] if name and lines else text))


def _words(error: BaseException) -> str:
    """What was raised, `Class: message`, on one line; where all we have is a remote traceback, what that ends with."""
    text = str(error)
    places = list(PLACE.finditer(text))
    if not places:
        return _cut(f"{type(error).__name__}: {' '.join(text.split()) or '(no message)'}")
    lines = text[places[-1].end() :].splitlines()
    raised = next((number for number, line in enumerate(lines) if line and not line[0].isspace()), 0)
    return _cut(" ".join(" ".join(lines[raised:]).split()))


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} ..."
