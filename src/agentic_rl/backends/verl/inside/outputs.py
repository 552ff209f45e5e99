"""Trajectories as the samples that verl trains on, token by token."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from agentic_rl.agents.trajectory import Segment, Trajectory, token_list


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

    Whole: for each part of the trajectory (there is one, unless its history was rewritten or it forked) the prompt and
    everything after it, up to the last token that the policy wrote: what it was shown after that can't be learnt from,
    and verl needs the reward on a token of the policy. Stepwise: for each turn the tokens before it as the prompt. A
    failed rollout, and one in which the policy wrote nothing, is one sample whose mask is 0 throughout.

    Args:
        trajectory: the rollout; its mask says which tokens are the policy's.
        frame: the lengths; what of the response is beyond them is cut off.
        opening: the tokens of the task's messages, the prompt of a rollout that recorded none.
    """
    # A later segment begins with what an earlier one ends with: only the whole of it is bounded.
    longest = frame.max_prompt_length + (frame.max_response_length if trajectory.segments else 0)
    parts = [_Part.of(part, frame, longest) for part in trajectory.parts()]
    error = trajectory.error or next((part.misfit for part in parts if part.misfit), "")
    samples = [sample for part in parts for sample in part.samples(trajectory.trajectory_reward, frame)]
    if error or not samples:
        samples = [parts[-1].masked(0.0 if error else trajectory.trajectory_reward, frame, opening)]
    else:
        by_turn = frame.stepwise and len(parts) == 1
        _put_scores(samples if by_turn else samples[-1:], [step.reward for step in trajectory.steps], by_turn=by_turn)
    turns = sum(len(part.turns) for part in parts)
    return Rollout(
        samples,
        error,
        trajectory.finish_reason,
        sum(message.get("role") != "system" for message in trajectory.chat_completions) or 2 * turns,
        sum(part.turns[-1][1] for part in parts if part.turns),
        _counts(trajectory, turns, failed=bool(error), truncated=any(part.cut for part in parts)),
    )


@dataclass(frozen=True)
class _Part:
    """One sequence of a trajectory, cut to the frame."""

    prompt: list[int]
    response: list[int]
    mask: list[int]
    logprobs: list[float]
    turns: list[tuple[int, int]]
    cut: bool
    """Whether the response was longer."""
    misfit: str
    """Why verl can't take it; empty where it can."""

    @classmethod
    def of(cls, part: Segment, frame: Frame, longest: int) -> _Part:
        prompt, response, mask = map(token_list, (part.prompt_tokens, part.response_tokens, part.response_masks))
        limit = frame.max_response_length
        kept, mask = response[:limit], mask[:limit]
        logprobs = [float(one) for one in part.response_logprobs][:limit] or [0.0] * len(kept)
        misfit = _misfit(prompt, response, longest)
        return cls(prompt, kept, mask, logprobs, turns_of(mask), len(response) > limit, misfit)

    def samples(self, reward: float, frame: Frame) -> list[Sample]:
        """One sample, or one for each turn; none where the policy wrote nothing."""
        spans = self.turns if frame.stepwise else [(0, self.turns[-1][1])] if self.turns else []
        return [
            Sample(
                [*self.prompt, *self.response[:start]],
                self.response[start:stop],
                self.mask[start:stop],
                self.logprobs[start:stop],
                reward,
            )
            for start, stop in spans
        ]

    def masked(self, reward: float, frame: Frame, opening: Sequence[int]) -> Sample:
        """A sample from which nothing is learnt."""
        prompt = (self.prompt or list(opening) or [frame.filler])[: frame.max_prompt_length]
        response = self.response or [frame.filler]
        return Sample(prompt, response, [0] * len(response), [0.0] * len(response), reward)


def turns_of(mask: Sequence[int]) -> list[tuple[int, int]]:
    """Where the turns of the policy begin and end: the runs of 1."""
    edges = [place for place, (before, now) in enumerate(zip([0, *mask], [*mask, 0], strict=True)) if before != now]
    return list(zip(edges[::2], edges[1::2], strict=True))


def _misfit(prompt: Sequence[int], response: Sequence[int], longest: int) -> str:
    """Why verl can't take a part; empty where it can."""
    if len(prompt) > longest:
        return f"prompt_tokens has {len(prompt)} tokens, max_prompt_length is {longest}"
    return "prompt_tokens is empty" if response and not prompt else ""


def _put_scores(samples: Sequence[Sample], scores: Sequence[float], *, by_turn: bool) -> None:
    """Give each sample the score of its turn, or all of them, where the agent gave any."""
    if not any(scores):
        return
    for place, sample in enumerate(samples):
        sample.turn_scores.extend(scores[place : place + 1] if by_turn else scores)


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
