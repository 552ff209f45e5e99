"""Agents of rllm's shape: the classes below have the methods that rllm's public interface names, and no more."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from agentic_rl.agents import RllmAgent, UnknownAgentError, find_agent
from agentic_rl.rollout.chat import ChatFormat
from agentic_rl.rollout.driver import Driver
from rollout_doubles import ScriptedEngine, call_text, make_task, make_tokenizer, spelled

TOKENIZER = make_tokenizer()
PACKAGE = {
    "__init__.py": "",
    "agents/__init__.py": "",
    "agents/agent.py": """
from dataclasses import dataclass
from typing import Any

@dataclass
class Action:
    action: Any = None

class BaseAgent:
    pass
""",
    "agents/guess_agent.py": """
from rllm.agents.agent import Action, BaseAgent

class GuessAgent(BaseAgent):
    def __init__(self, forgets=False):
        self.forgets = forgets
        self.messages = []

    def reset(self):
        self.messages = [{"role": "system", "content": "Guess."}]

    @property
    def chat_completions(self):
        if self.forgets:
            return [self.messages[0], self.messages[-1]]
        return self.messages

    def update_from_env(self, observation, reward, done, info, **kwargs):
        self.messages.append({"role": "user", "content": str(observation)})

    def update_from_model(self, response, **kwargs):
        self.messages.append({"role": "assistant", "content": response})
        return Action(response)
""",
    "environments/__init__.py": "",
    "environments/guess_env.py": """
closed = []

class GuessEnv:
    def __init__(self, truth, tries, fails=False):
        self.truth, self.tries, self.fails, self.number = truth, tries, fails, 0

    @staticmethod
    def from_dict(info):
        return GuessEnv(info["ground_truth"], info.get("tries", 2), info.get("fails", False))

    @staticmethod
    def is_multithread_safe():
        return True

    def reset(self):
        return "Which?", {}

    def step(self, action):
        if self.fails:
            raise OSError("the game is gone")
        self.number += 1
        right = action == self.truth
        return ("yes" if right else "no"), (1.0 if right else -0.25), right or self.number == self.tries, {}

    def close(self):
        closed.append(self.number)
""",
    "trainer/__init__.py": "",
    "trainer/env_agent_mappings.py": """
from rllm.agents.guess_agent import GuessAgent
from rllm.environments.guess_env import GuessEnv

AGENT_CLASS_MAPPING = {"guess_agent": GuessAgent, "math_agent": GuessAgent, "lonely": GuessAgent}
ENV_CLASS_MAPPING = {"guess": GuessEnv}
""",
}


@pytest.fixture
def rllm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    for name, text in PACKAGE.items():
        file = tmp_path / "rllm" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    for name in [name for name in sys.modules if name.partition(".")[0] == "rllm"]:
        del sys.modules[name]


def play(agent: Any, replies: Sequence[str], **limits: Any) -> Any:
    engine = ScriptedEngine([spelled(TOKENIZER, reply) for reply in replies])
    settings = {"max_prompt_length": 512, "max_response_length": 1024, "max_tokens": 256, "max_steps": 9, **limits}
    (trajectory,) = asyncio.run(
        Driver(engine, ChatFormat(TOKENIZER), **settings).run(agent, [make_task("Play.", ground_truth="7")])
    )
    return trajectory


def test_an_agent_that_only_rllm_has_is_found_under_its_engine(rllm: Any) -> None:
    agent = find_agent("guess", engine="rllm")
    assert isinstance(agent, RllmAgent)
    assert (agent.agent_class.__name__, agent.env_class.__name__) == ("GuessAgent", "GuessEnv")
    assert isinstance(find_agent("guess_agent", engine="rllm"), RllmAgent)
    with pytest.raises(UnknownAgentError):
        find_agent("guess")
    with pytest.raises(UnknownAgentError):  # it has no environment
        find_agent("lonely", engine="rllm")


def test_our_own_agents_come_first_with_a_note(rllm: Any, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        assert not isinstance(find_agent("math", engine="rllm"), RllmAgent)
    assert "math is found without rllm and runs on this package's own driver" in caplog.text
    assert "rllm" not in sys.modules


def test_without_rllm_the_engine_finds_what_is_there() -> None:
    find_agent("math", engine="rllm")
    with pytest.raises(UnknownAgentError, match="no agent is called 'guess'"):
        find_agent("guess", engine="rllm")


def test_an_episode_is_one_token_exact_sequence_with_its_step_rewards(rllm: Any) -> None:
    replies = [call_text("1+1"), "7"]
    trajectory = play(find_agent("guess", engine="rllm"), replies)
    assert trajectory.error == ""
    assert trajectory.trajectory_reward == 0.75
    assert [step.reward for step in trajectory.steps] == [-0.25, 1.0]
    assert len(trajectory.parts()) == 1
    own = [token for token, mask in zip(trajectory.response_tokens, trajectory.response_masks, strict=True) if mask]
    assert own == [token for reply in replies for token in spelled(TOKENIZER, reply)]
    assert sys.modules["rllm.environments.guess_env"].closed == [2]


def test_an_agent_that_forgets_has_a_segment_for_each_turn(rllm: Any) -> None:
    found = find_agent("guess", engine="rllm")
    assert isinstance(found, RllmAgent)
    agent = RllmAgent(found.agent_class, found.env_class, {"forgets": True}, {"tries": 3})
    trajectory = play(agent, ["1", "2", "3"])
    assert (trajectory.error, trajectory.trajectory_reward) == ("", -0.75)
    assert len(trajectory.parts()) == 3


def test_a_budget_ends_an_episode_and_an_environment_that_fails_fails_it(rllm: Any) -> None:
    found = find_agent("guess", engine="rllm")
    assert isinstance(found, RllmAgent)
    cut = play(found, ["1", "7"], max_steps=1)
    assert (cut.error, cut.trajectory_reward) == ("", -0.25)
    failed = play(RllmAgent(found.agent_class, found.env_class, env_args={"fails": True}), ["1"])
    assert failed.error.startswith("OSError: the game is gone")
    assert sys.modules["rllm.environments.guess_env"].closed == [1, 0]


def test_a_final_reward_replaces_that_of_the_last_step(rllm: Any) -> None:
    found = find_agent("guess", engine="rllm")
    assert isinstance(found, RllmAgent)

    class Judged(found.env_class):  # type: ignore[name-defined]
        @staticmethod
        def from_dict(info: dict[str, Any]) -> Any:
            return Judged("7", 2)

        def compute_final_reward(self) -> float:
            return 5.0

    trajectory = play(RllmAgent(found.agent_class, Judged), ["1", "2"])
    assert [step.reward for step in trajectory.steps] == [-0.25, 5.0]
    assert trajectory.trajectory_reward == 4.75
