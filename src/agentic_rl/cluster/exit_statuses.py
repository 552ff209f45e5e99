"""Exit statuses by which a scheduler decides whether to start a job again."""

from __future__ import annotations

FINISHED = 0
FAILED = 1
"""Findings of severity error, a start that is refused, or a job that failed."""
USAGE = 2
"""Wrong usage of the command line."""
CRASH_LOOP = 3
"""The job fails without making a step: starting it again changes nothing."""
LOST = 4
"""The training master is gone without having said how its job ended."""
AGAIN_LATER = 75
"""All retries are used up, yet the job made steps: starting it again goes on. (EX_TEMPFAIL of sysexits.h)"""
INTERRUPTED = 130
"""Stopped by SIGINT, SIGTERM or SIGHUP; the last whole step is saved where the backend can."""

_STOPPED = (INTERRUPTED, 128 + 15, 128 + 1)


def was_stopped(status: int) -> bool:
    """Whether a job with this status was asked to stop: by its own account, or by an unhandled SIGTERM or SIGHUP."""
    return status in _STOPPED


def is_final(status: int) -> bool:
    """Whether starting again is of no use: finished, wrongly called, in a crash loop, or stopped on request."""
    return status in (FINISHED, USAGE, CRASH_LOOP) or was_stopped(status)
