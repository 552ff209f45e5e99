"""The place where the calls of a user's wrapper come in: without keys, recorded for the batch that runs."""

from __future__ import annotations

import asyncio
from typing import Any

from agentic_rl.rollout.completions import CompletionsFunction
from agentic_rl.rollout.gateway.ask import Ask, Choice, OnText
from agentic_rl.rollout.gateway.faults import InvalidError


class BatchDoor:
    """Answers with the function that the wrapper could call itself."""

    def __init__(self, completions: CompletionsFunction) -> None:
        self._completions = completions

    async def answer(self, ask: Ask, on_text: OnText | None = None) -> list[Choice]:
        """Let the policy answer; see `Policy.answer`."""
        if "chat_template_kwargs" in ask.options:
            raise InvalidError("chat_template_kwargs can't be given here", param="chat_template_kwargs")
        shown: dict[str, Any] = {"prompt": ask.prompt}
        if ask.messages is not None:
            shown = {"messages": ask.messages, "tools": ask.tools or None}
        body = {**shown, **ask.options, "n": ask.n}
        work = self._completions(body) if on_text is None else self._completions.streamed(on_text, **body)
        call = self._completions.context.copy().run(asyncio.ensure_future, work)
        try:
            answer = await call
        finally:
            call.cancel()
        return [_choice(one, answer["prompt_token_ids"]) for one in answer["choices"]]


def _choice(one: dict[str, Any], prompt_ids: list[int]) -> Choice:
    logprobs = one["logprobs"]
    text = one.get("text", "")
    return Choice(
        message=one.get("message", {"role": "assistant", "content": text}),
        text=text,
        token_ids=one["token_ids"],
        logprobs=logprobs.get("token_logprobs") or [token["logprob"] for token in logprobs.get("content", ())],
        finish_reason=one["finish_reason"],
        prompt_ids=prompt_ids,
    )
