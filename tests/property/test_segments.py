"""Whatever a client asks, in whatever order or at the same time: each token of the policy is learned from once."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from itertools import compress
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from agentic_rl.agents import Message, Trajectory
from agentic_rl.rollout.chat import ChatFormat
from agentic_rl.rollout.engines.base import Completion, SamplingParams
from agentic_rl.rollout.limits import Limits
from agentic_rl.rollout.segments import Conversation, Reply
from rollout_doubles import GROUPED, ScriptedEngine, as_sampled, make_task, make_tokenizer, spelled

FORMAT = ChatFormat(make_tokenizer(GROUPED))
OPENING: list[Message] = [{"role": "user", "content": "How many?"}]
LIMITS = Limits(max_prompt_length=9999, max_response_length=9999, max_tokens=50, max_steps=99)

# What is done next, and with which of the replies so far.
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["grow", "grow", "ask again", "edit", "tokens", "text", "fail"]),
        st.integers(0, 30),
        st.sampled_from(["user", "tool"]),
    ),
    min_size=1,
    max_size=8,
)


class Asked:
    """A conversation with a list of messages for each reply."""

    def __init__(self, *, fails: Sequence[int] = ()) -> None:
        def script(prompt: Sequence[int], sampling: SamplingParams, turn: int) -> Completion:
            if len(self.engine.calls) in fails:
                raise ConnectionResetError
            ids = spelled(FORMAT.tokenizer, f"r{len(self.engine.calls)}", end=sampling.seed % 2 == 0)
            return as_sampled(ids, sampling)

        self.engine = ScriptedEngine(script, max_model_len=99_999)
        self.model = Conversation(self.engine, FORMAT, LIMITS, make_task(), "session")
        self.known: list[tuple[list[Message], Reply]] = []

    async def do(self, step: tuple[str, int, str]) -> None:
        kind, number, role = step
        messages, reply = self.known[number % len(self.known)] if self.known else (OPENING, None)
        if reply is None or kind == "ask again":
            return await self._complete(messages)
        more: Message = {"role": role, "content": f"then {number}"}
        if kind == "tokens":
            return self._note([], await self.model.complete_ids([*reply.prompt_ids, *reply.token_ids, 7]))
        if kind == "text":
            whole = FORMAT.decode([*reply.prompt_ids, *reply.token_ids])
            return self._note([], await self.model.complete_text(whole + "more"))
        if kind == "edit":
            return await self._complete([{"role": "user", "content": "Other"}, reply.message, more])
        return await self._complete([*messages, reply.message, more])

    async def _complete(self, messages: list[Message]) -> None:
        self._note(messages, await self.model.complete(messages or OPENING))

    def _note(self, messages: list[Message], reply: Reply) -> None:
        if messages:
            self.known.append((messages, reply))


def check(asked: Asked, answered: int) -> None:
    trajectory = asked.model.trajectory(1.0)
    parts = trajectory.parts()
    sequences = [[*part.prompt_tokens, *part.response_tokens] for part in parts]
    assert len(trajectory.steps) == answered
    for step in trajectory.steps:
        shown, wrote = list(step.prompt_tokens), list(step.response_tokens)
        assert any(whole[: len(shown) + len(wrote)] == [*shown, *wrote] for whole in sequences)
    learned = [token for part in parts for token in written(part)]
    assert sorted(learned) == sorted(token for step in trajectory.steps for token in step.response_tokens)
    for part in parts:
        assert len(part.response_tokens) == len(part.response_masks) == len(part.response_logprobs)
        assert len(part.prompt_tokens) > 0
        assert part.response_masks[0] == 1
        assert all(
            (logprob != 0) == own for logprob, own in zip(part.response_logprobs, part.response_masks, strict=True)
        )
    assert own_tokens(trajectory) == sequences[-1]


def written(part: Any) -> list[int]:
    return list(compress(part.response_tokens, part.response_masks))


def own_tokens(trajectory: Trajectory) -> list[int]:
    return [*trajectory.prompt_tokens, *trajectory.response_tokens]


@given(STEPS, st.sets(st.integers(1, 8), max_size=2))
def test_one_after_the_other(steps: list[tuple[str, int, str]], fails: set[int]) -> None:
    asked = Asked(fails=sorted(fails))

    async def run() -> int:
        answered = 0
        for step in steps:
            try:
                await asked.do(step)
            except ConnectionResetError:
                continue
            answered += 1
        return answered

    answered = asyncio.run(run())
    if answered:
        check(asked, answered)


@given(STEPS, STEPS)
def test_at_the_same_time(first: list[tuple[str, int, str]], second: list[tuple[str, int, str]]) -> None:
    asked = Asked()

    async def run() -> None:
        await asked.do(("grow", 0, "user"))
        for steps in (first, second):
            await asyncio.gather(*map(asked.do, steps))

    asyncio.run(run())
    check(asked, 1 + len(first) + len(second))
