from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
import tiny_project
from runs import Run
from transformers import AutoTokenizer

pytestmark = pytest.mark.integration

AGENT = '''
from agentic_rl import Agent


class Lengthy(Agent):
    """Rewards an even number of characters."""

    async def run(self, task, model):
        reply = await model.chat(task.prompt)
        return float(len(reply["content"]) % 2)
'''
WRAPPER = '''
from agentic_rl import BaseEngineWrapper, Trajectory


class Lengthy(BaseEngineWrapper):
    """Rewards an even number of characters."""

    async def generate_trajectory(self, task, stream_queue=None):
        encoded = self.tokenizer.apply_chat_template(task["prompt"], add_generation_prompt=True)
        prompt = list(encoded["input_ids"])
        answer = await self.completions[0](prompt=prompt, max_tokens=8)
        choice = answer["choices"][0]
        return Trajectory(
            prompt_tokens=prompt,
            response_tokens=choice["token_ids"],
            response_masks=[1] * len(choice["token_ids"]),
            idx=task["idx"],
            trajectory_reward=float(len(choice["text"]) % 2),
        )
'''
STEPS = '''
from agentic_rl import BaseEngineWrapper
from agentic_rl.runner.agent_engine_wrapper.base import Step, StepTrajectory


class Lengthy(BaseEngineWrapper):
    """The older form in its step mode: no tokens, each step with its conversation."""

    def generate_agent_trajectories_async(self, tasks):
        import asyncio

        return asyncio.run(self.all(tasks))

    async def all(self, tasks):
        import asyncio

        return await asyncio.gather(*(self.one(place, task) for place, task in enumerate(tasks)))

    async def one(self, place, task):
        answer = await self.completions[0]({"messages": task["prompt"], "max_tokens": 8})
        text = answer["choices"][0]["message"]["content"] or "?"
        messages = [*task["prompt"], {"role": "assistant", "content": text}]
        reward = float(len(text) % 2)
        step = Step(chat_completions=messages, model_response=text, reward=reward, done=True)
        return StepTrajectory(steps=[step], idx=place, trajectory_reward=reward, task=task)
'''
PLAYER = '''
from agentic_rl import Environment, EnvironmentAgent, Observation


class Evens(Environment):
    """Two steps, each rewarding an even number of characters."""

    def __init__(self):
        self.steps = 0

    def reset(self, task):
        return "Write."

    def step(self, message):
        self.steps += 1
        return Observation("And again.", reward=float(len(message["content"]) % 2), done=self.steps == 2)


player = EnvironmentAgent(Evens)
'''
BROKEN = """
from agentic_rl import Agent


class Broken(Agent):
    async def run(self, task, model):
        return 0.0


1 / 0
"""


def project(tmp_path: Path, code: str, **keys: int) -> Run:
    folder = tmp_path / "files"
    tiny_project.make_project(folder, {"total_training_steps": 2})
    (folder / "agent.py").write_text(code)
    config = tiny_project.write_config(
        folder,
        {"total_training_steps": 2},
        agent_name="lengthy",
        agent_engine_wrapper_path=str(folder / "agent.py"),
        **keys,
    )
    return Run(tmp_path, config)


CODES = {"Agent": AGENT, "BaseEngineWrapper": WRAPPER, "StepTrajectory": STEPS, "EnvironmentAgent": PLAYER}


@pytest.mark.parametrize("code", CODES.values(), ids=CODES.keys())
def test_a_users_own_file_is_trained_with(code: str, tmp_path: Path, train: Callable[..., int]) -> None:
    run = project(tmp_path, code)
    assert train(run) == 0, run.output
    training = [line for line in run.metrics() if line["phase"] == "training"]
    assert [line["reward/failed_fraction"] for line in training] == [0.0, 0.0]
    assert all(line["policy/grad_norm"] > 0 for line in training)
    assert max(line["policy/logprob_difference"] for line in training) < 1e-5


def test_a_file_that_raises_is_reported_with_its_own_line(tmp_path: Path, train: Callable[..., int]) -> None:
    run = project(tmp_path, BROKEN)
    assert train(run) == 1
    place, found = f"{tmp_path}/files/agent.py:10", "ZeroDivisionError: division by zero"
    assert f"{place} error ARL416 agent_engine_wrapper_path: {found}" in run.output
    assert "Traceback" not in run.output


def test_an_mcp_server_is_started_with_the_run_and_ends_with_it(tmp_path: Path, train: Callable[..., int]) -> None:
    pytest.importorskip("mcp", reason="needs the extra [mcp]")
    server = Path(__file__).parents[2] / "mcp_server.py"
    pid = tmp_path / "pid"
    code = (
        "import sys\nfrom agentic_rl import McpServer, ToolAgent\n"
        f"server = McpServer.stdio(sys.executable, {str(server)!r}, only=['add'], env={{'PID_FILE': {str(pid)!r}}})\n"
        "agent = ToolAgent(tools=[server], reward=lambda task, messages: len(messages[-1]['content']) % 2)\n"
    )
    run = project(tmp_path, code, max_prompt_length=512, max_model_len=640)
    assert train(run) == 0, run.output
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "files" / "model")
    shown = [json.loads(line)["prompt_tokens"] for line in run.trajectories().splitlines()]
    assert all(tokenizer.decode(tokens).startswith("add\n") for tokens in shown)  # the template names the tools
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)
