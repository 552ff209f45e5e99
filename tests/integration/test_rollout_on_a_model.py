"""A real model, its engine and an agent: what is recorded is what the model sampled, and how probable it was."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest
import torch
from transformers import Qwen3Config, Qwen3ForCausalLM

from agentic_rl.agents import Agent, ChatModel, Message, Task, Trajectory, load_agent_file
from agentic_rl.rollout.chat import ChatFormat
from agentic_rl.rollout.driver import Driver, Runnable
from agentic_rl.rollout.engines.base import Engine
from agentic_rl.rollout.engines.generate import GenerateEngine
from agentic_rl.rollout.engines.ragged import RaggedEngine
from rollout_doubles import make_task, make_tokenizer

pytestmark = pytest.mark.integration


class ThreeTurns(Agent):
    async def run(self, task: Task, model: ChatModel) -> float:
        messages: list[Message] = [*task.prompt]
        for turn in range(3):
            messages.append(await model.chat(messages))
            messages.append({"role": "tool", "content": f"12*ab {turn}"})
        return 1.0


@pytest.fixture(scope="module")
def chat_format() -> ChatFormat:
    return ChatFormat(make_tokenizer())


@pytest.fixture(scope="module")
def model(chat_format: ChatFormat) -> Qwen3ForCausalLM:
    torch.manual_seed(0)
    config = Qwen3Config(
        vocab_size=len(chat_format.tokenizer),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=8,
        max_position_embeddings=512,
        initializer_range=0.2,
    )
    return Qwen3ForCausalLM(config).eval()


WRAPPER = """
import asyncio
import torch
from agentic_rl import BaseEngineWrapper, Trajectory
from rewards_of_wrapper import judge

class Mine(BaseEngineWrapper):
    def initialize(self):
        self.complete = self.completions[0]

    def generate_agent_trajectories_async(self, tasks):
        return asyncio.run(self.all(tasks))

    async def all(self, tasks):
        return await asyncio.gather(*(self.one(place, task) for place, task in enumerate(tasks)))

    async def one(self, place, task):
        prompt = self.tokenizer.apply_chat_template(task["prompt"], add_generation_prompt=True)["input_ids"]
        choice = (await self.complete(prompt=list(prompt), **self.sampling_params))["choices"][0]
        return Trajectory(
            prompt_tokens=torch.tensor(prompt),
            response_tokens=torch.tensor(choice["token_ids"]),
            response_masks=torch.ones(len(choice["token_ids"]), dtype=torch.long),
            idx=place,
            trajectory_reward=judge(task),
        )
"""


def roll(
    engine: Engine, chat_format: ChatFormat, agent: Runnable, tasks: Sequence[Task], at_once: int
) -> list[Trajectory]:
    async def run() -> list[Trajectory]:
        driver = Driver(
            engine,
            chat_format,
            max_prompt_length=100,
            max_response_length=200,
            max_tokens=12,
            max_steps=5,
            temperature=0.9,
            n_parallel_agents=at_once,
        )
        trajectories = await driver.run(agent, tasks)
        await engine.close()
        return trajectories

    return asyncio.run(run())


def check_logprobs(trajectory: Trajectory, model: Qwen3ForCausalLM) -> None:
    """Compare what was recorded with a forward pass over the whole trajectory."""
    tokens = torch.tensor([*trajectory.prompt_tokens, *trajectory.response_tokens])
    with torch.no_grad():
        logits = model(tokens[None]).logits[0] / 0.9
    start = len(trajectory.prompt_tokens)
    own = logits.log_softmax(-1)[start - 1 : -1].gather(-1, tokens[start:, None])[:, 0]
    mask = torch.tensor(trajectory.response_masks, dtype=torch.bool)
    recorded = torch.tensor(trajectory.response_logprobs)
    torch.testing.assert_close(recorded[mask], own[mask], atol=1e-4, rtol=0)


@pytest.mark.parametrize("kind", [RaggedEngine, GenerateEngine])
def test_recorded_logprobs_are_the_models_own(kind: type, model: Qwen3ForCausalLM, chat_format: ChatFormat) -> None:
    engine = kind(model, max_model_len=400, max_num_seqs=8, max_num_batched_tokens=64)
    tasks = [make_task(f"question {place // 4}", idx=place // 4, seed=place) for place in range(12)]
    trajectories = roll(engine, chat_format, ThreeTurns(), tasks, at_once=12)
    again = 0
    for trajectory in trajectories:
        assert trajectory.error == ""
        assert trajectory.metrics["turns"] == 3
        check_logprobs(trajectory, model)
        tokens = [*trajectory.prompt_tokens, *trajectory.response_tokens]
        text = chat_format.tokenizer.decode(tokens)
        again += chat_format.tokenizer.encode(text, add_special_tokens=False) != tokens
    assert again  # tokenizing the conversations again would have given other tokens


def test_a_rollout_does_not_depend_on_its_company(model: Qwen3ForCausalLM, chat_format: ChatFormat) -> None:
    def engine() -> RaggedEngine:
        return RaggedEngine(model, max_model_len=400, max_num_seqs=8, max_num_batched_tokens=64)

    tasks = [make_task(f"question {place}", seed=place) for place in range(6)]
    together = roll(engine(), chat_format, ThreeTurns(), tasks, at_once=6)
    one_by_one = roll(engine(), chat_format, ThreeTurns(), tasks, at_once=1)
    assert [one.response_tokens for one in together] == [one.response_tokens for one in one_by_one]


def test_a_users_wrapper_file_gets_exact_tokens_and_their_logprobs(
    tmp_path: Path, model: Qwen3ForCausalLM, chat_format: ChatFormat
) -> None:
    (tmp_path / "rewards_of_wrapper.py").write_text("def judge(task):\n    return task['level'] / 10\n")
    (tmp_path / "wrapper.py").write_text(WRAPPER)
    engine = RaggedEngine(model, max_model_len=400, max_num_seqs=8, max_num_batched_tokens=64)
    tasks = [make_task(f"question {place // 4}", idx=place // 4, extra_info={"level": place}) for place in range(12)]
    trajectories = roll(engine, chat_format, load_agent_file(tmp_path / "wrapper.py"), tasks, at_once=12)
    assert [trajectory.idx for trajectory in trajectories] == [place // 4 for place in range(12)]
    assert [trajectory.trajectory_reward for trajectory in trajectories] == [place / 10 for place in range(12)]
    assert len({tuple(trajectory.response_tokens) for trajectory in trajectories}) > 6  # copies of a prompt differ
    for trajectory in trajectories:
        check_logprobs(trajectory, model)
