"""Whatever a policy writes and tools answer: tokens are only appended, and mask and log-probabilities fit them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentic_rl.agents import Agent, ChatModel, Message, Task
from agentic_rl.rollout.chat import ChatFormat
from agentic_rl.rollout.driver import Driver
from rollout_doubles import TEMPLATES, ScriptedEngine, as_sampled, make_task, make_tokenizer

FORMATS = {name: ChatFormat(make_tokenizer(template)) for name, template in TEMPLATES.items()}
VOCABULARY = len(FORMATS["chatml"].tokenizer)
END = FORMATS["chatml"].end_of_turn

# No thoughts and no user messages after the first: templates may drop the former because of the latter.
REPLIES = st.lists(
    st.tuples(
        st.lists(st.integers(0, VOCABULARY - 1).filter(lambda token: token != END), max_size=12), st.booleans()
    ).map(lambda reply: [*reply[0], END] if reply[1] or not reply[0] else reply[0]),
    min_size=1,
    max_size=5,
)
RESULTS = st.lists(st.lists(st.text(max_size=12), min_size=1, max_size=3), min_size=5, max_size=5)


class Answers(Agent):
    """Answers every turn with the prepared tool results, until there are none."""

    def __init__(self, results: Sequence[Sequence[str]]) -> None:
        self.results = results

    async def run(self, task: Task, model: ChatModel) -> float:
        messages: list[Message] = [*task.prompt]
        for texts in self.results:
            messages.append(await model.chat(messages))
            messages += [{"role": "tool", "content": text} for text in texts]
        return 1.0


def roll(chat_format: ChatFormat, replies: list[list[int]], results: list[list[str]], **limits: Any) -> Any:
    engine = ScriptedEngine(replies)
    settings = {"max_prompt_length": 500, "max_response_length": 500, "max_tokens": 8, "max_steps": 4, **limits}
    driver = Driver(engine, chat_format, **settings)
    (trajectory,) = asyncio.run(driver.run(Answers(results[: len(replies)]), [make_task()]))
    return engine, trajectory


@pytest.mark.parametrize("name", FORMATS)
@given(replies=REPLIES, results=RESULTS, budget=st.integers(1, 200))
def test_any_conversation(name: str, replies: list[list[int]], results: list[list[str]], budget: int) -> None:
    engine, trajectory = roll(FORMATS[name], replies, results, max_response_length=budget)
    assert trajectory.error == ""
    prompt, response, mask = trajectory.prompt_tokens, trajectory.response_tokens, trajectory.response_masks
    whole = [*prompt, *response]

    # One entry for each token, and log-probabilities where the policy wrote, 0 elsewhere.
    assert len(response) == len(mask) == len(trajectory.response_logprobs) <= budget
    assert set(mask) <= {0, 1}
    assert all((logprob != 0.0) == bool(own) for logprob, own in zip(trajectory.response_logprobs, mask, strict=True))

    # Every prompt of the engine is a beginning of the trajectory, each longer than the one before.
    prompts = [asked for asked, _, _ in engine.calls]
    assert all(asked == whole[: len(asked)] for asked in prompts)
    assert prompts[0] == prompt
    assert sorted(map(len, prompts)) == list(map(len, prompts))
    assert trajectory.metrics["turns"] == len(prompts) <= 4

    # What the policy wrote is what the engine gave, token by token, in its place.
    given_back = [as_sampled(reply, params) for reply, (_, params, _) in zip(replies, engine.calls, strict=False)]
    for asked, completion in zip(prompts, given_back, strict=True):
        assert whole[len(asked) :][: len(completion.tokens)] == completion.tokens
    assert sum(mask) == sum(len(completion.tokens) for completion in given_back)
    assert mask[-1] == 1


@pytest.mark.parametrize("name", FORMATS)
@given(texts=st.lists(st.text(), min_size=1, max_size=3))
def test_what_tools_say_reaches_the_policy_as_text(name: str, texts: list[str]) -> None:
    chat_format = FORMATS[name]
    suffix = chat_format.tokenizer.decode(chat_format.suffix_ids([{"role": "tool", "content": text} for text in texts]))
    assert all(text.encode("utf-8", "replace").decode() in suffix for text in texts)


@given(conversation=st.lists(st.tuples(st.text(max_size=20), st.text(max_size=20)), min_size=1, max_size=3))
def test_budgets_are_never_an_error(conversation: list[tuple[str, str]]) -> None:
    chat_format = FORMATS["chatml"]
    replies = [chat_format.tokenizer.encode(text) or [END] for text, _ in conversation]
    for budget in (1, 7, 40):
        _, trajectory = roll(chat_format, replies, [[text] for _, text in conversation], max_response_length=budget)
        assert trajectory.finish_reason in ("done", "length", "max_steps")
