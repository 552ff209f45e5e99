"""What a rollout costs beside its engine: CPU seconds of the driver, and of a bare loop over the same engine.

    python benchmarks/rollout.py [--rounds 9] [--rollouts 256]

Two turns each, as in the quickstart: a tool call, the calculator's result, an answer in a box; its tokenizer, its
chat template and its problems. The engine answers at once with prepared tokens. The bare loop asks it the same with
token ids that are ready, so it parses, renders, times out and records nothing. Both alternate; the ratio is that of the
medians. The first round meets empty caches and is reported by itself.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import statistics
import time
from collections.abc import Sequence

from agentic_rl.agents import Task, Trajectory, find_agent
from agentic_rl.projects.quickstart.problems import every_text, make_problems
from agentic_rl.projects.quickstart.tokenizer import build_tokenizer
from agentic_rl.rollout.chat import ChatFormat
from agentic_rl.rollout.driver import Driver
from agentic_rl.rollout.engines.base import Completion, OnTokens, SamplingParams

TURNS = 2


class ReadyEngine:
    """Answers at once: a call in a session's first turn, an answer in its second."""

    max_model_len = 512

    def __init__(self, replies: dict[int, Sequence[list[int]]]) -> None:
        self._replies = replies
        self._turns: dict[str, int] = {}

    async def generate(
        self,
        prompt: Sequence[int],
        sampling: SamplingParams,
        *,
        session: str | None = None,
        on_tokens: OnTokens | None = None,
    ) -> Completion:
        """Give a prepared reply to the rollout whose number its session starts with."""
        await asyncio.sleep(0)
        turn = self._turns[str(session)] = self._turns.get(str(session), -1) + 1
        number = int(str(session).split("-", 1)[0]) % len(self._replies)
        tokens = self._replies[number][turn]
        return Completion(list(tokens), [-0.1] * len(tokens), "stop")

    def release(self, session: str) -> None:
        """Forget the session."""
        self._turns.pop(session, None)

    async def close(self) -> None:
        """Hold nothing."""


def main() -> None:
    """Measure, and print one line for each system."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--rollouts", type=int, default=256)
    options = parser.parse_args()
    chat_format = ChatFormat(build_tokenizer(every_text()))
    tasks, replies = prepared(chat_format, options.rollouts)
    driver = Driver(
        ReadyEngine(replies), chat_format, max_prompt_length=256, max_response_length=256, max_tokens=64, max_steps=5
    )
    agent = find_agent("math")
    costs: dict[str, list[float]] = {"driver": [], "bare loop": []}
    for _ in range(options.rounds):
        start = time.process_time()
        trajectories = asyncio.run(driver.run(agent, tasks))
        between = time.process_time()
        asyncio.run(bare(ReadyEngine(replies), trajectories))
        costs["driver"].append(between - start)
        costs["bare loop"].append(time.process_time() - between)
        assert all(trajectory.trajectory_reward == 1.0 for trajectory in trajectories)
    report(costs, options.rollouts)


def prepared(chat_format: ChatFormat, rollouts: int) -> tuple[list[Task], dict[int, list[list[int]]]]:
    """Tasks in groups of eight, and for each rollout the tokens of its call and of its right answer."""
    encode = chat_format.tokenizer.encode
    tasks, replies = [], {}
    for idx, problem in enumerate(make_problems(-(-rollouts // 8), random.Random(0), test=False)):
        body = f'{{"name": "calculator", "arguments": {{"expression": "{problem.expression}"}}}}'
        call = f"<tool_call>\n{body}\n</tool_call>"
        texts = [f"{call}<|im_end|>", f"\\boxed{{{problem.answer}}}<|im_end|>"]
        for sample in range(8):
            replies[len(tasks)] = [encode(text, add_special_tokens=False) for text in texts]
            prompt = [{"role": "user", "content": problem.text}]
            tasks.append(Task(prompt, str(problem.answer), "calc", {}, idx, sample, seed=len(tasks)))
    return tasks[:rollouts], {number: replies[number] for number in range(rollouts)}


async def bare(engine: ReadyEngine, trajectories: Sequence[Trajectory]) -> None:
    """Ask the engine for the same turns, with everything in between ready."""

    async def one(number: int, trajectory: Trajectory) -> None:
        tokens, session = list(trajectory.prompt_tokens), str(number)
        for _ in range(TURNS):
            completion = await engine.generate(tokens, SamplingParams(max_tokens=64), session=session)
            tokens += completion.tokens
        engine.release(session)

    await asyncio.gather(*(one(number, trajectory) for number, trajectory in enumerate(trajectories)))


def report(costs: dict[str, list[float]], rollouts: int) -> None:
    """Print CPU microseconds a turn, first round and median of the others."""
    for name, seconds in costs.items():
        per_turn = [1e6 * one / (rollouts * TURNS) for one in seconds]
        print(f"{name:10} first round {per_turn[0]:6.1f} us a turn, later {statistics.median(per_turn[1:]):6.1f}")
    driver, loop = (statistics.median(seconds[1:]) for seconds in costs.values())
    print(
        f"driver: {driver:.4f} CPU s for {rollouts} rollouts of {TURNS} turns; {driver / loop:.1f} times the bare loop"
    )


if __name__ == "__main__":
    main()
