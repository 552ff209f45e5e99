"""What a call through the gateway costs the process that records it.

    python benchmarks/gateway.py [--agents 64] [--rounds 3]

A client in a process of its own talks to each trajectory: three turns, two of them calls of a tool, over one connection
for each, in the bytes that the `openai` package sends. The engine answers at once with prepared tokens. Counted are the
CPU seconds of the gateway's process, everything included: HTTP, chat template, tokenizer, parsing, recording. The
second row makes the same calls of `model.chat` without HTTP.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import statistics
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from agentic_rl import Agent, Task
from agentic_rl.rollout.chat import ChatFormat
from agentic_rl.rollout.driver import Driver
from agentic_rl.rollout.engines.base import Completion, OnTokens, SamplingParams

sys.path.append(str(Path(__file__).parents[1] / "tests"))
from rollout_doubles import call_text, make_tokenizer

TURNS = 3
TOOL = {
    "type": "function",
    "function": {
        "name": "calculator",
        "description": "Evaluate an arithmetic expression.",
        "parameters": {"type": "object", "properties": {"expression": {"type": "string"}}, "required": ["expression"]},
    },
}
PROMPT = [{"role": "user", "content": "How much is 12*7? Use the calculator, and put the answer into a box. " * 4}]
HEAD = (
    "POST {path}/chat/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept-Encoding: gzip, deflate\r\n"
    "Connection: keep-alive\r\nAccept: application/json\r\nContent-Type: application/json\r\n"
    "User-Agent: AsyncOpenAI/Python 3.57.0\r\nX-Stainless-Lang: python\r\nX-Stainless-Package-Version: 3.57.0\r\n"
    "X-Stainless-OS: Linux\r\nX-Stainless-Arch: x64\r\nX-Stainless-Runtime: CPython\r\n"
    "X-Stainless-Async: async:asyncio\r\nAuthorization: Bearer {key}\r\nX-Stainless-Retry-Count: 0\r\n"
    "Content-Length: {length}\r\n\r\n"
)


class Prepared:
    """An engine that knows its answers."""

    max_model_len = 100_000

    def __init__(self, chat_format: ChatFormat) -> None:
        texts = [f"Let me work that out with the calculator. {call_text('12*7')}", r"It is \boxed{84}."]
        self._replies = [[*chat_format.encode(text), chat_format.end_of_turn] for text in texts]
        self._turns: dict[str | None, int] = {}

    async def generate(
        self,
        prompt: Sequence[int],
        sampling: SamplingParams,
        *,
        session: str | None = None,
        on_tokens: OnTokens | None = None,
    ) -> Completion:
        """Answer at once."""
        turn = self._turns[session] = self._turns.get(session, 0) + 1
        tokens = self._replies[turn == TURNS]
        return Completion(list(tokens), [-0.5] * len(tokens), "stop")

    def release(self, session: str) -> None:
        """Forget a rollout."""
        self._turns.pop(session, None)

    def weights_changed(self) -> None:
        """There are none."""

    async def close(self) -> None:
        """There is nothing to free."""


class Outside(Agent):
    """Leaves everything to the client in the other process."""

    def __init__(self, pipe: Any) -> None:
        self._pipe = pipe
        self._waiting: dict[str, asyncio.Future[None]] = {}

    async def run(self, task: Task, model: Any) -> float:
        """Hand the address over, and wait."""
        done = self._waiting[model.base_url] = asyncio.get_running_loop().create_future()
        self._pipe.send((model.base_url, model.api_key))
        await done
        return 1.0

    def listen(self) -> None:
        """Take note of what the client has finished."""
        while self._pipe.poll():
            self._waiting.pop(self._pipe.recv()).set_result(None)


class Inside(Agent):
    """Makes the same calls without HTTP."""

    async def run(self, task: Task, model: Any) -> float:
        """Call a tool twice, then answer."""
        messages = list(task.prompt)
        for _ in range(TURNS):
            message = await model.chat(messages, tools=[TOOL])
            messages += [message, {"role": "tool", "content": "84", "tool_call_id": "x"}]
        return 1.0


async def talk(url: str, key: str) -> str:
    """Do one rollout from outside; return its address."""
    host, _, path = url.removeprefix("http://").partition("/")
    reader, writer = await asyncio.open_connection(*host.split(":"))
    messages = list(PROMPT)
    for _ in range(TURNS):
        body = json.dumps({"model": "policy", "messages": messages, "tools": [TOOL]}).encode()
        writer.write(HEAD.format(path=f"/{path}", key=key, length=len(body)).encode() + body)
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        length = int(head.partition(b"content-length:")[2].split(b"\r\n")[0])
        answer = json.loads(await reader.readexactly(length))
        message = answer["choices"][0]["message"]
        messages += [message, {"role": "tool", "content": "84", "tool_call_id": "x"}]
    writer.close()
    return url


def client(pipe: Any) -> None:
    """Talk to every address that comes, at the same time."""

    async def run() -> None:
        loop = asyncio.get_running_loop()
        tasks: set[asyncio.Task[str]] = set()
        gone = loop.create_future()
        sending = ThreadPoolExecutor(1)

        def finished(task: asyncio.Task[str]) -> None:
            tasks.discard(task)
            sending.submit(pipe.send, task.result())  # both sides sending on full pipes would wait for each other

        def arrived() -> None:
            try:
                while pipe.poll():
                    task = loop.create_task(talk(*pipe.recv()))
                    tasks.add(task)
                    task.add_done_callback(finished)
            except EOFError:
                gone.set_result(None)
                loop.remove_reader(pipe.fileno())

        loop.add_reader(pipe.fileno(), arrived)
        await gone

    asyncio.run(run())


async def measure(agent: Agent, agents: int, rollouts: int) -> float:
    """Return calls per CPU second of this process."""
    chat_format = ChatFormat(make_tokenizer())
    driver = Driver(
        Prepared(chat_format),
        chat_format,
        max_prompt_length=10_000,
        max_response_length=10_000,
        max_tokens=1000,
        max_steps=TURNS,
        n_parallel_agents=agents,
    )
    await driver.run(agent, [Task(PROMPT) for _ in range(agents)])
    begun = time.process_time()
    results = await driver.run(agent, [Task(PROMPT, idx=place) for place in range(rollouts)])
    seconds = time.process_time() - begun
    assert all(one.error == "" and len(one.parts()) == 1 and one.metrics["turns"] == TURNS for one in results)
    await driver.close()
    return rollouts * TURNS / seconds


async def through_the_gateway(pipe: Any, agents: int, rollouts: int) -> float:
    """As `measure`, the client being at the other end of the pipe."""
    agent = Outside(pipe)
    asyncio.get_running_loop().add_reader(pipe.fileno(), agent.listen)
    return await measure(agent, agents, rollouts)


def main() -> None:
    """Print calls per CPU second."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--agents", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    rollouts = max(768, 2 * options.agents)
    here, there = multiprocessing.get_context("spawn").Pipe()
    process = multiprocessing.get_context("spawn").Process(target=client, args=(there,), daemon=True)
    process.start()
    there.close()
    rows: dict[str, list[float]] = {"through the gateway": [], "model.chat": []}
    for _ in range(options.rounds):
        rows["through the gateway"].append(asyncio.run(through_the_gateway(here, options.agents, rollouts)))
        rows["model.chat"].append(asyncio.run(measure(Inside(), options.agents, rollouts)))
    for name, rates in rows.items():
        middle = statistics.median(rates)
        spread = f"{min(rates):,.0f} to {max(rates):,.0f}"
        print(f"{name:20} {middle:8,.0f} calls per CPU second ({1e6 / middle:,.0f} us a call; {spread})")


if __name__ == "__main__":
    main()
