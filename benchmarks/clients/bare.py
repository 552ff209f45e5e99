"""aiohttp and nothing else: token ids that are ready go out, token ids and log-probabilities are kept."""

from __future__ import annotations

import argparse

import aiohttp
from measured import TURNS, bounded, measure


async def run(options: argparse.Namespace) -> int:
    """Make the rollouts."""
    url = f"http://127.0.0.1:{options.port}/v1/completions"
    prompt, result = list(range(100, 200)), list(range(200, 220))

    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:

        async def one(number: int) -> bool:
            tokens, mask, logprobs = [*prompt, number + 300], [], []
            for turn in range(TURNS):
                body = {
                    "model": "policy",
                    "prompt": tokens,
                    "max_tokens": 64,
                    "temperature": 1.0,
                    "seed": number,
                    "logprobs": 0,
                    "return_token_ids": True,
                }
                async with session.post(url, json=body) as response:
                    choice = (await response.json())["choices"][0]
                tokens += choice["token_ids"]
                mask += [1] * len(choice["token_ids"])
                logprobs += choice["logprobs"]["token_logprobs"]
                if turn < TURNS - 1:
                    tokens += result
                    mask += [0] * len(result)
                    logprobs += [0.0] * len(result)
            return len(tokens) == len(prompt) + 1 + len(mask) and len(mask) == len(logprobs)

        return await bounded(options, one)


if __name__ == "__main__":
    measure(run)
