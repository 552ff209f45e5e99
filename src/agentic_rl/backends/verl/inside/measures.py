"""What is measured of the rollouts of one step, under the names of every backend."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Summary = Mapping[str, Any]
"""`Rollout.summary` of one rollout."""

LOST = "verl's agent loop ended without an output; the log of its worker has the cause"


def session_of(key: str) -> tuple[str, str, int]:
    """The prompt, the rollout and the number of the sample in a key of verl's: `{uid}_{session}_{index}`."""
    uid, session, index = key.rsplit("_", 2)
    return uid, session, int(index)


def by_session(keys: Sequence[str], summaries: Iterable[Summary]) -> dict[tuple[str, str], Summary]:
    """The summary of each rollout, however many samples it gave."""
    return {session_of(key)[:2]: summary for key, summary in zip(keys, summaries, strict=True)}


def summary_of_strangers(reward: float, response_length: int) -> Summary:
    """The summary of a rollout that another agent loop than ours has made."""
    names = ("written", "failed", "turns", "tool_calls", "tool_errors", "truncated", "timed_out")
    summary = {"error": "", "reward": reward, "response_length": response_length, **dict.fromkeys(names, 0.0)}
    return {**summary, "written": response_length}


def reasons(rollouts: Iterable[Summary], expected: int) -> list[str]:
    """Why each of the `expected` rollouts of a step failed; empty for those that did not."""
    known = [str(rollout["error"]) for rollout in rollouts]
    return [*known, *[LOST] * (expected - len(known))]


def step_measures(rollouts: Sequence[Summary], expected: int) -> dict[str, float]:
    """Rewards, lengths and events of one step. Failed rollouts count in fractions of all rollouts alone."""
    whole = [rollout for rollout in rollouts if not rollout["error"]]
    rewards = _values(whole, "reward")
    lengths = _values(whole, "response_length")
    return {
        "reward/mean": statistics.fmean(rewards),
        "reward/std": statistics.pstdev(rewards),
        "reward/failed_fraction": 1 - len(whole) / expected,
        "response_length/mean": statistics.fmean(lengths),
        "response_length/max": max(lengths),
        "turns/mean": statistics.fmean(_values(whole, "turns")),
        "tool_calls/mean": statistics.fmean(_values(whole, "tool_calls")),
        "tool_errors/mean": statistics.fmean(_values(whole, "tool_errors")),
        "truncated/fraction": sum(_values(rollouts, "truncated")) / expected,
        "timed_out/fraction": sum(_values(rollouts, "timed_out")) / expected,
    }


def evaluation_measures(rewards: Sequence[float], sources: Sequence[str], failed: int) -> dict[str, float]:
    """The mean reward over all held-out rollouts and over those of each source; a failed one counts with 0."""
    of_source: dict[str, list[float]] = {}
    for reward, source in zip(rewards, sources, strict=True):
        of_source.setdefault(source, []).append(reward)
    return {
        "eval/reward": statistics.fmean(rewards),
        **{f"eval/reward/{source}": statistics.fmean(of_source[source]) for source in sorted(of_source)},
        "eval/failed_fraction": failed / len(rewards),
    }


def _values(rollouts: Iterable[Summary], name: str) -> list[float]:
    return [float(rollout[name]) for rollout in rollouts] or [0.0]
