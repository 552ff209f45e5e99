"""`openai` with its own transport or with aiohttp's: messages go out, token ids and log-probabilities are kept."""

from __future__ import annotations

import argparse
from typing import Any

import openai
from measured import PROMPT, TOOL, TURNS, bounded, measure


async def run(options: argparse.Namespace) -> int:
    """Make the rollouts."""
    transport: dict[str, Any] = {}
    if options.transport == "aiohttp":
        transport["http_client"] = openai.DefaultAioHttpClient()
    client = openai.AsyncOpenAI(base_url=f"http://127.0.0.1:{options.port}/v1", api_key="none", **transport)
    async with client:

        async def one(number: int) -> bool:
            messages: list[Any] = [{"role": "user", "content": PROMPT.format(number=number // 8)}]
            tokens, logprobs = [], []
            for _ in range(TURNS):
                answer = await client.chat.completions.create(
                    model="policy",
                    messages=messages,
                    tools=[TOOL],
                    max_tokens=64,
                    logprobs=True,
                    seed=number,
                    extra_body={"return_token_ids": True},
                )
                choice = answer.choices[0]
                tokens += choice.token_ids
                logprobs += [one.logprob for one in choice.logprobs.content]
                messages.append(choice.message.model_dump(exclude_none=True))
                calls = choice.message.tool_calls or ()
                messages += [{"role": "tool", "tool_call_id": call.id, "content": "84"} for call in calls]
            return messages[-1]["content"] == r"\boxed{84}" and len(tokens) == len(logprobs)

        return await bounded(options, one)


if __name__ == "__main__":
    measure(run, ["transport"])
