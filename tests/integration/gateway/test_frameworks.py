"""Agent frameworks, as they are, train against the local backend."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.integration
EXAMPLE = Path(__file__).parents[3] / "examples" / "openai_agents" / "agent.py"
LANGGRAPH = '''
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.errors import GraphRecursionError
from langgraph.prebuilt import create_react_agent

from agentic_rl import Agent


@tool
def calculator(expression: str) -> str:
    """Evaluate an arithmetic expression."""
    return "84"


class Graph(Agent):
    async def run(self, task, model):
        chat = ChatOpenAI(model="policy", base_url=model.base_url, api_key=model.api_key, max_retries=0)
        graph = create_react_agent(chat, [calculator])
        try:
            state = await graph.ainvoke({"messages": list(task.prompt)}, {"recursion_limit": 8})
        except GraphRecursionError:
            return 0.0
        return float(len(state["messages"][-1].content) % 2)
'''
SMOLAGENTS = '''
from smolagents import OpenAIServerModel, ToolCallingAgent, tool

from agentic_rl import Agent

RULES = "Answer."
PLAN = {"initial_plan": "", "update_plan_pre_messages": "", "update_plan_post_messages": ""}
PROMPTS = {
    "system_prompt": RULES,
    "planning": PLAN,
    "managed_agent": {"task": "", "report": ""},
    "final_answer": {"pre_messages": "", "post_messages": ""},
}


@tool
def calculator(expression: str) -> str:
    """Evaluate an arithmetic expression.

    Args:
        expression: such as 12*7.
    """
    return "84"


class Smol(Agent):
    def run(self, task, model):
        """Without `async`: the framework blocks."""
        policy = OpenAIServerModel("policy", api_base=model.base_url, api_key=model.api_key)
        agent = ToolCallingAgent([calculator], policy, max_steps=1, prompt_templates=PROMPTS, verbosity_level=-1)
        for _ in agent.run(str(task.prompt[-1]["content"]), stream=True):
            pass
        return float(agent.monitor.get_total_token_counts().output_tokens % 2)
'''


def train(folder: Path, name: str, code: str, section: Mapping[str, Any], **keys: Any) -> list[dict[str, Any]]:
    """Train the quickstart's model for two steps; return their metrics."""

    def agentic_rl(*arguments: str) -> str:
        command = [sys.executable, "-m", "agentic_rl", *arguments]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=280)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stderr

    agentic_rl("init", "quickstart", "project")
    agent = folder / "project" / "agent.py"
    agent.write_text(code)
    agent.chmod(0o640)
    settings = {
        "agent_name": name,
        "agent_engine_wrapper_path": agent,
        "rollout_n": 4,
        "local.experiment_name": name,
        "local.total_training_steps": 2,
        "local.train_batch_size": 8,
        "local.ppo_mini_batch_size": 8,
        "local.val_before_train": "false",
        "local.val_batch_size": 8,
        **keys,
        **{f"local.{key}": value for key, value in section.items()},
    }
    agentic_rl("--config-path", "project/config.yaml", *(f"{key}={value}" for key, value in settings.items()))
    run = folder / "checkpoints" / "quickstart" / name
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    return [line for line in lines if line.get("phase") == "training"]


def check(steps: list[dict[str, Any]]) -> None:
    assert [step["step"] for step in steps] == [1, 2]
    for step in steps:
        assert step["reward/failed_fraction"] == 0.0
        assert step["policy/grad_norm"] > 0
        assert step["policy/logprob_difference"] < 1e-4  # what was recorded is what the policy says now


def test_the_openai_agents_sdk_trains(tmp_path: Path) -> None:
    pytest.importorskip("agents", reason="session frameworks")
    check(train(tmp_path, "solver", EXAMPLE.read_text(), {}))


def test_langgraph_trains(tmp_path: Path) -> None:
    pytest.importorskip("langgraph", reason="session frameworks")
    check(train(tmp_path, "graph", LANGGRAPH, {"sft_steps": 20}))


def test_smolagents_trains(tmp_path: Path) -> None:
    pytest.importorskip("smolagents", reason="session frameworks")
    check(train(tmp_path, "smol", SMOLAGENTS, {"sft_steps": 20}, max_prompt_length=200, max_model_len=256))
