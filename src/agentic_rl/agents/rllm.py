"""Agents of the package rllm, by its public interface: `BaseAgent` and `BaseEnv`; ours need no rllm."""

from __future__ import annotations

import contextlib
import logging
import math
from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from agentic_rl.agents.agent import Agent, ChatModel
from agentic_rl.agents.calls import call
from agentic_rl.agents.errors import BudgetExhaustedError
from agentic_rl.agents.task import Message, Task

RLLM = "rllm"
_MAPPINGS = "rllm.trainer.env_agent_mappings"
_LOGGER = logging.getLogger(__name__)


class RllmAgent(Agent):
    """Runs an agent and an environment of rllm's shape; both are made anew for every rollout.

    The agent has `reset()`, `update_from_env(observation, reward, done, info)`, `update_from_model(response)` and
    `chat_completions`; the environment `from_dict(info)`, `reset()`, `step(action)` and, if it likes, `close()` and
    `compute_final_reward()`. The rollout earns the sum of the steps' rewards, the last of which the final one replaces.

    Args:
        agent_class: of the agent.
        env_class: of the environment. Its methods run in threads, so they may block.
        agent_args: keywords of the agent's constructor.
        env_args: go into `from_dict`, together with the row's `extra_info`, its question and its ground truth.
    """

    def __init__(
        self,
        agent_class: Any,
        env_class: Any,
        agent_args: Mapping[str, Any] | None = None,
        env_args: Mapping[str, Any] | None = None,
    ) -> None:
        self.agent_class = agent_class
        self.env_class = env_class
        self.agent_args = dict(agent_args or {})
        self.env_args = dict(env_args or {})

    async def run(self, task: Task, model: ChatModel) -> float:
        """Play one episode."""
        environment = self.env_class.from_dict(self._info(task))
        rewards: list[float] = []
        try:
            with contextlib.suppress(BudgetExhaustedError):  # a normal end: what was earned until then counts
                await self._play(environment, model, rewards)
            final = getattr(environment, "compute_final_reward", None)
            if final is not None and rewards:
                earned = float(await self._called(final))
                model.reward_step(earned - rewards[-1])
                rewards[-1] = earned
        finally:
            await self._close(environment)
        return math.fsum(rewards)

    async def _play(self, environment: Any, model: ChatModel, rewards: list[float]) -> None:
        agent = self.agent_class(**self.agent_args)
        observation, info = await self._called(environment.reset)
        agent.reset()
        agent.update_from_env(observation, 0.0, False, info)
        written: dict[str, Message] = {}
        done = False
        while not done:
            message, text = await model.ask(_as_recorded(agent.chat_completions, written))
            written[text] = message
            action = agent.update_from_model(text)
            action = getattr(action, "action", action)
            observation, reward, done, info = await self._called(environment.step, action)
            agent.update_from_env(observation, reward, done, info)
            model.reward_step(reward)
            rewards.append(float(reward))

    def _info(self, task: Task) -> dict[str, Any]:
        question = next((one.get("content") for one in reversed(task.prompt) if one.get("role") == "user"), "")
        return {
            "question": question,
            "ground_truth": task.ground_truth,
            "data_source": task.data_source,
            **task.extra_info,
            **self.env_args,
        }

    async def _called(self, method: Any, *arguments: Any) -> Any:
        return await call(method, *arguments, what=f"{self.env_class.__name__}.{method.__name__}")

    async def _close(self, environment: Any) -> None:
        try:
            if hasattr(environment, "close"):
                await self._called(environment.close)
        except Exception as error:
            _LOGGER.warning("%s.close: %s: %s", self.env_class.__name__, type(error).__name__, error)


def _as_recorded(messages: list[Message], written: Mapping[str, Message]) -> list[Message]:
    """The conversation with the policy's own texts as they were recorded: calls of tools are read out of them there."""
    return [
        written.get(str(one.get("content")), one) if one.get("role") == "assistant" else dict(one) for one in messages
    ]


def agent_of_rllm(name: str) -> RllmAgent | None:
    """Return the agent that rllm calls `name` (or `name_agent`), with the environment of that name; None without one.

    rllm is imported if it is installed. An agent without an environment of its own gets `single_turn_env`.
    """
    if find_spec(RLLM) is None:
        return None
    mappings = import_module(_MAPPINGS)
    agents, environments = mappings.AGENT_CLASS_MAPPING, mappings.ENV_CLASS_MAPPING
    found = next((one for one in (name, f"{name}_agent") if one in agents), None)
    if found is None:
        return None
    bare = found.removesuffix("_agent").removesuffix("agent")
    environment = next((one for one in (name, bare, "single_turn_env") if one in environments), None)
    return None if environment is None else RllmAgent(agents[found], environments[environment])
