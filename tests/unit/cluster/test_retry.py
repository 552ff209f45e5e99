"""Whether and when a job is started again."""

from __future__ import annotations

import random

import pytest

from agentic_rl.cluster.retry import Attempt, RetryPolicy, judge

FAILED, KILLED = 1, 137


def verdicts(*attempts: tuple[int, bool], policy: RetryPolicy | None = None) -> list[tuple[str, int]]:
    """What follows each of the starts."""
    made = [Attempt(status, stepped) for status, stepped in attempts]
    judged = (judge(made[: number + 1], policy or RetryPolicy()) for number in range(len(made)))
    return [(verdict.kind, verdict.status) for verdict in judged]


AGAIN = ("again", 0)


def test_a_finished_job_is_not_started_again() -> None:
    assert verdicts((FAILED, True), (0, True)) == [AGAIN, ("ended", 0)]


def test_two_failures_in_a_row_without_a_step_are_a_crash_loop() -> None:
    assert verdicts((FAILED, False), (FAILED, False)) == [AGAIN, ("crash loop", 3)]
    assert verdicts((FAILED, False), (FAILED, True), (FAILED, False)) == [AGAIN] * 3


def test_kills_from_outside_are_forgiven_longer() -> None:
    assert verdicts(*[(KILLED, False)] * 5) == [*[AGAIN] * 4, ("crash loop", 3)]
    assert verdicts((KILLED, False), (FAILED, False), (KILLED, False), (FAILED, False))[-1] == ("crash loop", 3)


def test_retries_end_where_the_policy_says() -> None:
    policy = RetryPolicy(max_retries=2)
    assert verdicts(*[(FAILED, True)] * 3, policy=policy) == [AGAIN, AGAIN, ("no retries left", 75)]


def test_without_retries_a_failure_is_just_that() -> None:
    assert verdicts((FAILED, True), policy=RetryPolicy(max_retries=0)) == [("no retries left", 1)]


@pytest.mark.parametrize(("status", "own"), [(130, 130), (143, 130), (129, 130), (2, 2), (3, 3)])
def test_what_a_retry_would_not_change_ends_at_once(status: int, own: int) -> None:
    assert verdicts((status, True)) == [("ended", own)]


def test_waits_double_up_to_the_longest_and_are_spread() -> None:
    policy = RetryPolicy(first_wait=4, longest_wait=20, jitter=0)
    assert [policy.wait(number, random.Random(0)) for number in (0, 1, 2, 3, 10**6)] == [4, 8, 16, 20, 20]
    spread = RetryPolicy(first_wait=4, jitter=0.25)
    drawn = {spread.wait(0, random.Random(seed)) for seed in range(50)}
    assert 3 <= min(drawn) < 3.5
    assert 4.5 < max(drawn) <= 5
