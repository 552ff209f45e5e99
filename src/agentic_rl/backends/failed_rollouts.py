"""The rule by which failed rollouts stop a run, the same in every backend."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from agentic_rl.backends.errors import FailedRolloutsError


def refuse_failures(where: str, reasons: Sequence[str], allowed: float) -> None:
    """Raise where a larger fraction than `allowed` failed.

    Args:
        where: begins the message.
        reasons: why each rollout failed; empty for one that did not.
        allowed: the configuration's `max_failed_fraction`.

    Raises:
        FailedRolloutsError: with the most frequent reason.
    """
    counted = Counter(filter(None, reasons))
    failed = sum(counted.values())
    if failed <= allowed * len(reasons):
        return
    reason, times = counted.most_common(1)[0]
    raise FailedRolloutsError(
        f"{where}: {failed} of {len(reasons)} rollouts failed, more than max_failed_fraction {allowed:g}; "
        f"most often ({times} times): {reason}",
        "repair the cause, or allow more with max_failed_fraction",
    )
