"""Trajectories on their way from the workers to trajectories.jsonl, which verl's trainer writes. Needs no verl."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

from agentic_rl.agents.task import Task
from agentic_rl.agents.trajectory import Segment, Trajectory
from agentic_rl.backends.verl.inside.measures import Summary, session_of
from agentic_rl.rollout.trajectory_record import trajectory_record

FIELD = "record"
"""In `extra_fields` of a rollout's first sample: the trajectory; empty in its other samples."""
_LEVEL = 1
"""Of zlib, the fastest: a fifth of the bytes for a few milliseconds of a worker that waits for the engine."""


def packed(trajectory: Trajectory, task: Task) -> bytes:
    """What of a trajectory is written down, as verl's TransferQueue takes it; what is no JSON becomes text."""
    record = trajectory_record(trajectory, task, step=0)
    return zlib.compress(json.dumps(record, default=repr).encode(), _LEVEL)


def unpacked(record: bytes, error: str) -> tuple[Trajectory, str]:
    """The trajectory of `packed` and its task's source; `error` is why verl could not take it."""
    values = json.loads(zlib.decompress(record))
    trajectory = Trajectory(
        values["prompt_tokens"],
        values["response_tokens"],
        values["response_mask"],
        trajectory_reward=values["reward"],
        chat_completions=values["messages"],
        response_logprobs=values["response_logprobs"],
        finish_reason=values["finish_reason"],
        error=error,
        segments=[_segment(segment) for segment in values["segments"]],
    )
    return trajectory, values["data_source"]


def rollouts_of(
    keys: Sequence[str], records: Sequence[bytes], summaries: Sequence[Summary], first: int = 0
) -> tuple[list[Task], list[Trajectory]]:
    """The rollouts of a step, those of a prompt side by side; other agent loops' have no record and are left out.

    Args:
        keys: of verl's samples.
        records: `FIELD` of each sample.
        summaries: of the rollout of each sample.
        first: the number of the first prompt.
    """
    prompts = {uid: number for number, uid in enumerate(dict.fromkeys(session_of(key)[0] for key in keys), first)}
    whole = [
        (prompts[uid], _number(session), record, str(summary["error"]))
        for (uid, session, _), record, summary in zip(map(session_of, keys), records, summaries, strict=True)
        if record
    ]
    tasks, trajectories = [], []
    for idx, sample, record, error in sorted(whole, key=lambda one: one[:2]):
        trajectory, source = unpacked(record, error)
        tasks.append(Task(prompt=[], data_source=source, idx=idx, sample=sample))
        trajectories.append(trajectory)
    return tasks, trajectories


def _segment(values: Mapping[str, Any]) -> Segment:
    return Segment(
        values["prompt_tokens"], values["response_tokens"], values["response_mask"], values["response_logprobs"]
    )


def _number(session: str) -> int:
    return int(session) if session.isdecimal() else 0
