"""A policy that does not read its earlier thoughts again: what it is shown, and how that is recorded."""

from __future__ import annotations

import asyncio

from agentic_rl.agents import Message, Trajectory
from agentic_rl.rollout.chat import ChatFormat
from agentic_rl.rollout.forgetting import ForgetfulConversation
from agentic_rl.rollout.limits import Limits
from agentic_rl.rollout.recorder import Recorder
from agentic_rl.rollout.segments import Conversation
from rollout_doubles import ScriptedEngine, make_task, make_tokenizer, spelled

FORMAT = ChatFormat(make_tokenizer())
THOUGHT, PLAIN = "<think>\n12*7 is 84\n</think>\n\n", "84"


def talked(*replies: str, conversation: type[Conversation] = ForgetfulConversation) -> tuple[list[str], Trajectory]:
    """What the policy was shown in each turn, and the trajectory."""
    engine = ScriptedEngine([spelled(FORMAT.tokenizer, text) for text in replies])
    limits = Limits(max_prompt_length=999, max_response_length=999, max_tokens=200, max_steps=9)
    model = Recorder(engine, FORMAT, limits, make_task(), "session", conversation=conversation)

    async def run() -> None:
        messages: list[Message] = [{"role": "user", "content": "How many?"}]
        for _ in replies:
            messages += [await model.chat(messages), {"role": "user", "content": "Sure?"}]

    asyncio.run(run())
    return [FORMAT.decode(prompt) for prompt, _, _ in engine.calls], model.trajectory(1.0)


def test_earlier_thoughts_are_not_shown() -> None:
    shown, trajectory = talked(THOUGHT + PLAIN, THOUGHT + PLAIN, PLAIN)
    assert not any("12*7" in prompt for prompt in shown)
    assert [prompt.count("84") for prompt in shown] == [0, 1, 2]
    assert len(trajectory.segments) == 3


def test_each_segment_has_the_tokens_that_the_policy_was_shown_and_wrote() -> None:
    shown, trajectory = talked(THOUGHT + PLAIN, THOUGHT + PLAIN)
    whole = [FORMAT.decode([*one.prompt_tokens, *one.response_tokens]) for one in trajectory.segments]
    assert [text.startswith(prompt) for text, prompt in zip(whole, shown, strict=True)] == [True, True]
    assert [text[len(prompt) :].count("12*7") for text, prompt in zip(whole, shown, strict=True)] == [1, 1]


def test_without_a_thought_nothing_changes() -> None:
    assert talked(PLAIN, PLAIN) == talked(PLAIN, PLAIN, conversation=Conversation)


def test_thoughts_stay_without_the_setting() -> None:
    shown, _ = talked(THOUGHT + PLAIN, PLAIN, conversation=Conversation)
    assert "12*7" in shown[1]


def test_the_conversation_keeps_them() -> None:
    _, trajectory = talked(THOUGHT + PLAIN, PLAIN)
    assert [message["content"] for message in trajectory.chat_completions if message["role"] == "assistant"] == [
        THOUGHT + PLAIN,
        PLAIN,
    ]
