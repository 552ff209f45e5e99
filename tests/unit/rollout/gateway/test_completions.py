"""Completions through the gateway."""

from __future__ import annotations

from typing import Any

import pytest

from gateway_doubles import ANSWER, FORMAT, Client, visit
from rollout_doubles import ScriptedEngine


@pytest.mark.parametrize("prompt", ["How many?", FORMAT.encode("How many?"), [FORMAT.encode("How many?")]])
def test_text_and_ids_are_continued(prompt: Any) -> None:
    async def work(client: Client) -> None:
        answer = await client.post("completions", model="m", prompt=prompt, logprobs=1, return_token_ids=True)
        (choice,) = answer["choices"]
        assert (choice["text"], choice["finish_reason"]) == ("84 it is", "stop")
        assert (choice["token_ids"], choice["prompt_token_ids"]) == (ANSWER, FORMAT.encode("How many?"))
        logprobs = choice["logprobs"]
        assert (logprobs["tokens"][:2], logprobs["text_offset"][:3]) == (["8", "4"], [0, 1, 2])
        assert len(logprobs["token_logprobs"]) == len(ANSWER)

    trajectory = visit(work, [ANSWER])
    assert (list(trajectory.prompt_tokens), list(trajectory.response_tokens)) == (FORMAT.encode("How many?"), ANSWER)


def test_a_prompt_that_goes_on_is_one_sequence() -> None:
    async def work(client: Client) -> None:
        first = await client.post("completions", prompt="ab", return_token_ids=True)
        await client.post("completions", prompt=[*FORMAT.encode("ab"), *first["choices"][0]["token_ids"], 5, 6])
        await client.post("completions", prompt="something else")

    parts = visit(work, [ANSWER]).parts()
    assert [len(part.response_tokens) for part in parts] == [2 * len(ANSWER) + 2, len(ANSWER)]


def test_a_stream_has_the_text_and_the_usage() -> None:
    async def work(client: Client) -> None:
        *texts, usage = await client.stream("completions", prompt="ab", stream_options={"include_usage": True})
        assert "".join(chunk["choices"][0]["text"] for chunk in texts) == "84 it is"
        assert [chunk["choices"][0]["finish_reason"] for chunk in texts] == [None] * (len(texts) - 1) + ["stop"]
        assert ({chunk["id"] for chunk in texts}, usage["usage"]["completion_tokens"]) == ({usage["id"]}, len(ANSWER))

    visit(work, [ANSWER])


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"prompt": ""},
        {"prompt": []},
        {"prompt": ["a", "b"]},
        {"prompt": [1, "a"]},
        {"prompt": [2**31]},
        {"prompt": [-1]},
        {"prompt": "a", "suffix": "b"},
        {"prompt": "a", "echo": True},
        {"prompt": "a", "best_of": 4},
        {"prompt": "a", "logprobs": 2},
        {"prompt": "a", "chat_template_kwargs": {"a": 1}},
    ],
)
def test_what_can_not_be_followed_is_refused(body: dict[str, Any]) -> None:
    async def work(client: Client) -> None:
        status, error = await client.refusal("completions", **body)
        assert (status, error["type"]) == (400, "invalid_request_error")

    visit(work, ScriptedEngine([ANSWER]))
