"""Agent files that are seen to ask once, and those that may ask again."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentic_rl.config.agent_file.questions import asks_once

RUN = "from agentic_rl import Agent\nclass Mine(Agent):\n    async def run(self, task, model):\n"
ONCE = [
    RUN + "        reply = await model.chat(task.prompt)\n        model.metrics['n'] = 1\n        return 1.0\n",
    RUN + "        message, text = await model.ask(task.prompt, stop=['x'])\n        return float('x' in text)\n",
    "from agentic_rl import ToolAgent, tool\nagent = ToolAgent(tools=[], reward=lambda task, messages: 1.0)\n",
    "from agentic_rl import ToolAgent\nclass Mine(ToolAgent):\n    async def reward(self, task, messages):\n"
    "        for message in messages:\n            print(message)\n        return 1.0\n",
]
AGAIN = [
    RUN + "        await model.chat(task.prompt)\n        await model.chat(task.prompt)\n        return 1.0\n",
    RUN + "        for _ in range(3):\n            await model.chat(task.prompt)\n        return 1.0\n",
    RUN + "        replies = [await model.chat(task.prompt) for _ in range(2)]\n        return 1.0\n",
    RUN + "        client = OpenAI(base_url=model.base_url)\n        return 1.0\n",
    RUN + "        await model.chat(task.prompt)\n        return await more(task, model)\n",
    RUN + "        return await more(task, model)\n",
    "from agentic_rl import EnvironmentAgent\nclass Mine(EnvironmentAgent):\n    def __init__(self):\n        pass\n",
    "from agentic_rl import BaseEngineWrapper\nclass Mine(BaseEngineWrapper):\n"
    "    async def generate_trajectory(self, task): ...\n",
    "from agentic_rl import ToolAgent\nfrom theirs import Mixin\nclass Mine(Mixin, ToolAgent): ...\n",
    "def broken(:\n",
    "",
]


@pytest.mark.parametrize("text", ONCE)
def test_one_question_is_seen(text: str, tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text(text)
    assert asks_once(str(tmp_path / "agent.py"))


@pytest.mark.parametrize("text", AGAIN)
def test_what_may_ask_again_is_not_taken_for_one_question(text: str, tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text(text)
    assert not asks_once(str(tmp_path / "agent.py"))


def test_a_file_that_is_gone_is_not_taken_for_one_question(tmp_path: Path) -> None:
    assert not asks_once(str(tmp_path / "agent.py"))
