"""Agent instances for tests of serve mode: agents that are called by their places, and their model servers."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from agentic_rl import Agent, BaseEngineWrapper, Task, ToolAgent, Trajectory, tool
from agentic_rl.agents.agent import ChatModel
from agentic_rl.agents.task import Message
from agentic_rl.serve.settings import AgentInstance, Infer
from fake_vllm import MODEL, FakeServer
from rollout_doubles import call_text, make_tokenizer

CALL, ANSWER = call_text("12*7"), r"It is \boxed{84}."


@tool
def calculator(expression: str) -> str:
    """Evaluate an arithmetic expression.

    Args:
        expression: such as 1+1.
    """
    left, right = expression.split("*")
    return str(int(left) * int(right))


def judged(task: Task, messages: Sequence[Message]) -> float:
    return float(str(task.ground_truth) in str(messages[-1]["content"]))


class Calculating(ToolAgent):
    """The usual agent."""

    def __init__(self) -> None:
        super().__init__("Use the calculator.", [calculator], judged)


class Blocking(Agent):
    """Holds up its event loop, as no agent should."""

    async def run(self, task: Task, model: ChatModel) -> float:
        time.sleep(1.0)
        return 0.0


class Failing(Agent):
    async def run(self, task: Task, model: ChatModel) -> float:
        raise RuntimeError(f"no {task.extra_info['what']}")


class Endless(Agent):
    """Runs until it is cancelled."""

    cancelled = 0

    async def run(self, task: Task, model: ChatModel) -> float:
        await model.chat(task.prompt)
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            type(self).cancelled += 1
            raise
        return 0.0


class Wrapping(BaseEngineWrapper):
    """Makes its trajectory itself, as existing agent files do."""

    async def generate_trajectory(self, task: Any, stream_queue: Any = None) -> Any:
        choice = (await self.completions[0](messages=task["prompt"]))["choices"][0]
        tokens = choice["token_ids"]
        trajectory = Trajectory([1], tokens, [1] * len(tokens), trajectory_reward=0.25)
        trajectory.chat_completions = [*task["prompt"], {"role": "assistant", "content": "made"}]
        return trajectory


class Broken(Wrapping):
    def initialize(self) -> None:
        raise RuntimeError("no licence")


def tokenizer_folder(folder: Path) -> str:
    make_tokenizer().save_pretrained(str(folder / "tokenizer"))
    return str(folder / "tokenizer")


def model_server(**settings: Any) -> FakeServer:
    """A server that calls the calculator twice, and then answers."""
    tokenizer = make_tokenizer()
    end = tokenizer.convert_tokens_to_ids("<|im_end|>")
    replies = [(*tokenizer.encode(text), end) for text in (CALL, ANSWER)]
    return FakeServer(call=replies[0], answer=replies[1], **settings)


def agent_instance(agent: str, server: FakeServer, tokenizer: str, **settings: Any) -> AgentInstance:
    infer = Infer("big", MODEL, (server.url,), key="infer_instances[0]")
    return AgentInstance(
        "helper",
        agent,
        infer,
        tokenizer,
        max_prompt_length=1024,
        max_model_len=2048,
        key="agent_instances[0]",
        **settings,
    )
