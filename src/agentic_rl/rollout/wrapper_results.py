"""Checks on what a user's wrapper returns."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from agentic_rl.agents.errors import TrajectoryFieldError
from agentic_rl.agents.task import Task
from agentic_rl.agents.trajectory import Segment, Step, StepTrajectory, Trajectory

_TOKENS = ("prompt_tokens", "response_tokens", "response_masks")


def in_order(results: object, tasks: Sequence[Task]) -> list[object]:
    """Return the results of a batch in the order of its tasks.

    `idx` of a result is the place of its task in the batch, or, where the results come in order anyway, the number
    of its group.

    Raises:
        TrajectoryFieldError: not a list of as many results as tasks, or `idx` says neither.
    """
    if not isinstance(results, list):
        raise TrajectoryFieldError(f"the wrapper returned a {type(results).__name__}, not a list of trajectories")
    if len(results) != len(tasks):
        raise TrajectoryFieldError(f"the wrapper returned {len(results)} trajectories for {len(tasks)} tasks")
    places = [_field(result, "idx", 0) for result in results]
    if places == [task.idx for task in tasks] or not any(places):
        return results
    if sorted(places, key=str) != sorted(range(len(tasks)), key=str):
        raise TrajectoryFieldError(f"idx: {places[:8]}... are not the places 0 to {len(tasks) - 1} of the tasks")
    return [results[places.index(place)] for place in range(len(tasks))]


def lacks_tokens(result: object) -> bool:
    """Whether a result is of the form that has steps and leaves the tokens to whoever trains."""
    if not isinstance(result, StepTrajectory) or not result.steps:
        return False
    return all(len(_listed(_field(result, name, ()))) == 0 for name in _TOKENS)


def with_segments(result: Any, segments: list[Segment]) -> StepTrajectory:
    """Return a result that lacks tokens with those of its steps; its own are then the last step's."""
    last = segments[-1]
    whole: StepTrajectory = replace(
        result,
        prompt_tokens=last.prompt_tokens,
        response_tokens=last.response_tokens,
        response_masks=last.response_masks,
        response_logprobs=last.response_logprobs,
        segments=segments if len(segments) > 1 else [],
    )
    return whole


def checked(result: object, task: Task) -> Trajectory:
    """Return a wrapper's result as a trajectory of `task`, with lists where it had tensors.

    Raises:
        TrajectoryFieldError: a field can't be right; the message names it.
    """
    prompt, response, mask = (_integers(result, name) for name in _TOKENS)
    if not prompt or not response:
        raise TrajectoryFieldError(f"{'response_tokens' if prompt else 'prompt_tokens'} is empty")
    if len(response) != len(mask):
        raise TrajectoryFieldError(
            f"response_masks has {len(mask)} entries for {len(response)} response_tokens; it needs one for each"
        )
    if not set(mask) <= {0, 1}:
        raise TrajectoryFieldError(f"response_masks holds {sorted(set(mask) - {0, 1})[0]}; it may hold 0 and 1 only")
    logprobs = [float(one) for one in _listed(_field(result, "response_logprobs", ()))]
    if logprobs and len(logprobs) != len(response):
        raise TrajectoryFieldError(f"response_logprobs has {len(logprobs)} entries for {len(response)} tokens")
    return Trajectory(
        prompt_tokens=prompt,
        response_tokens=response,
        response_masks=mask,
        idx=task.idx,
        trajectory_reward=_reward("trajectory_reward", _field(result, "trajectory_reward", 0.0)),
        chat_completions=list(_field(result, "chat_completions", None) or []),
        metrics=dict(_field(result, "metrics", None) or {}),
        response_logprobs=logprobs,
        segments=list(_field(result, "segments", None) or []),
        steps=[_step(step, place) for place, step in enumerate(_field(result, "steps", None) or [])],
    )


def _step(step: object, place: int) -> Step:
    reward = _reward(f"steps[{place}].reward", _field(step, "reward", 0.0))
    return replace(step, reward=reward) if isinstance(step, Step) else Step(reward=reward)


def _field(result: object, name: str, default: Any) -> Any:
    if isinstance(result, Mapping):
        return result.get(name, default)
    return getattr(result, name, default)


def _integers(result: object, name: str) -> list[int]:
    value = _field(result, name, None)
    if value is None:
        raise TrajectoryFieldError(f"{name} is missing from a {type(result).__name__}")
    if getattr(value, "ndim", 1) != 1:
        raise TrajectoryFieldError(f"{name} has {value.ndim} dimensions; it needs one")
    numbers = _listed(value)
    wrong = [one for one in numbers if not isinstance(one, int) or one < 0]
    if wrong:
        raise TrajectoryFieldError(f"{name} holds {wrong[0]!r}; it may hold whole numbers from 0 only")
    return [int(one) for one in numbers]


def _listed(value: Any) -> list[Any]:
    """A list of plain numbers out of a list, an array or a tensor."""
    return list(value.tolist() if hasattr(value, "tolist") else value)


def _reward(name: str, value: Any) -> float:
    try:
        reward = float(value)
    except (TypeError, ValueError):
        reward = math.nan
    if not math.isfinite(reward):
        raise TrajectoryFieldError(f"{name} is {value!r}; it must be a finite number")
    return reward
