"""Trajectories as the samples that verl trains on, token by token."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from agentic_rl.agents.trajectory import Trajectory, token_list


@dataclass(frozen=True)
class Frame:
    """What every sample has to fit into, and what stands where a failed rollout left nothing."""

    max_prompt_length: int
    max_response_length: int
    stepwise: bool
    """Each turn of the policy is a sample of its own."""
    filler: int
    """The token that stands for a response of no tokens: verl needs one."""


@dataclass(frozen=True)
class Sample:
    """One row of verl's batch."""

    prompt: list[int]
    response: list[int]
    mask: list[int]
    """1 where the policy wrote the token. Shape (response,)."""
    logprobs: list[float]
    """Shape (response,); 0.0 where the mask is 0 or the log-probability is not known."""
    reward: float
    """The trajectory's; verl puts it on the last token of the response."""
    turn_scores: list[float] = field(default_factory=list)
    """What an agent gave for the turns of this sample; nothing is learnt from it."""


@dataclass(frozen=True)
class Rollout:
    """A trajectory as verl gets it."""

    samples: list[Sample]
    """At least one."""
    error: str
    """Why the rollout failed; empty when it did not."""
    finish_reason: str
    messages: int
    """Of the conversation, those of the system aside; two for each turn where an agent keeps none."""
    response_length: int
    """Tokens after the prompt, up to the policy's last one."""
    counts: dict[str, float]
    """`turns`, `tool_calls`, `tool_errors` and, as 0 or 1, `failed`, `truncated` and `timed_out`."""

    def summary(self) -> dict[str, Any]:
        """What the trainer has to know of the whole rollout: the same in each of its samples."""
        return {
            "error": self.error,
            "reward": self.samples[-1].reward,
            "response_length": self.response_length,
            "written": sum(sum(sample.mask) for sample in self.samples),
            **self.counts,
        }


def rollout_of(trajectory: Trajectory, frame: Frame, opening: Sequence[int]) -> Rollout:
    """Turn a trajectory into samples.

    Whole: the prompt and everything after it, up to the last token that the policy wrote: what it was shown after that
    can't be learnt from, and verl needs the reward on a token of the policy. Stepwise: for each turn the tokens before
    it as the prompt. A failed rollout, and one in which the policy wrote nothing, is one sample whose mask is 0
    throughout.

    Args:
        trajectory: the rollout; its mask says which tokens are the policy's.
        frame: the lengths; what of the response is beyond them is cut off.
        opening: the tokens of the task's messages, the prompt of a rollout that recorded none.
    """
    prompt, response, mask = (
        token_list(part) for part in (trajectory.prompt_tokens, trajectory.response_tokens, trajectory.response_masks)
    )
    error = trajectory.error or _misfit(prompt, response, frame)
    fitting = len(response) <= frame.max_response_length
    response, mask = response[: frame.max_response_length], mask[: frame.max_response_length]
    logprobs = [float(one) for one in trajectory.response_logprobs][: len(response)] or [0.0] * len(response)
    spans = turns_of(mask)
    if error or not spans:
        prompt = (prompt or list(opening) or [frame.filler])[: frame.max_prompt_length]
        samples = [_masked(prompt, response or [frame.filler], 0.0 if error else trajectory.trajectory_reward)]
    else:
        learnt = [(0, spans[-1][1])] if not frame.stepwise else spans
        scores = [step.reward for step in trajectory.steps]
        samples = [
            Sample(
                [*prompt, *response[:start]],
                response[start:stop],
                mask[start:stop],
                logprobs[start:stop],
                trajectory.trajectory_reward,
                scores[place : place + 1] if frame.stepwise else scores,
            )
            for place, (start, stop) in enumerate(learnt)
        ]
    return Rollout(
        samples,
        error,
        trajectory.finish_reason,
        sum(message.get("role") != "system" for message in trajectory.chat_completions) or 2 * len(spans),
        spans[-1][1] if spans else 0,
        _counts(trajectory, len(spans), failed=bool(error), truncated=not fitting),
    )


def turns_of(mask: Sequence[int]) -> list[tuple[int, int]]:
    """Where the turns of the policy begin and end: the runs of 1."""
    edges = [place for place, (before, now) in enumerate(zip([0, *mask], [*mask, 0], strict=True)) if before != now]
    return list(zip(edges[::2], edges[1::2], strict=True))


def _misfit(prompt: Sequence[int], response: Sequence[int], frame: Frame) -> str:
    """Why verl can't take the trajectory of a wrapper, which makes its own; empty where it can."""
    if len(prompt) > frame.max_prompt_length:
        return f"prompt_tokens has {len(prompt)} tokens, max_prompt_length is {frame.max_prompt_length}"
    return "prompt_tokens is empty" if response and not prompt else ""


def _masked(prompt: list[int], response: list[int], reward: float) -> Sample:
    return Sample(prompt, response, [0] * len(response), [0.0] * len(response), reward)


def _counts(trajectory: Trajectory, turns: int, *, failed: bool, truncated: bool) -> dict[str, float]:
    return {
        "failed": float(failed),
        "turns": float(turns),
        "tool_calls": _count(trajectory, "tool_calls"),
        "tool_errors": _count(trajectory, "tool_errors"),
        "truncated": float(truncated or trajectory.finish_reason in {"length", "max_steps"}),
        "timed_out": float(trajectory.finish_reason == "timeout"),
    }


def _count(trajectory: Trajectory, name: str) -> float:
    """A number that the agent may have changed into something else."""
    value = trajectory.metrics.get(name, 0)
    return float(value) if isinstance(value, (int, float)) else 0.0
