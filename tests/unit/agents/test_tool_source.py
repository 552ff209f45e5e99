from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from agentic_rl.agents import Agent, McpError, McpServer, Task, Tool, ToolAgent, ToolSource, tool
from agentic_rl.agents.closing import close_agent
from agentic_rl.agents.tool_source import chosen
from agentic_rl.rollout.chat import ChatFormat
from agentic_rl.rollout.driver import Driver
from rollout_doubles import ScriptedEngine, call_text, make_task, make_tokenizer, spelled

TOKENIZER = make_tokenizer()


@tool(inline=True)
def calculator(expression: str) -> str:
    return "4"


@tool(inline=True)
def search(query: str) -> str:
    return "found"


@pytest.mark.parametrize(
    ("extra_info", "names"),
    [
        ({}, {"calculator", "search"}),
        ({"tool_selection": ["search"]}, {"search"}),
        ({"tool_selection": "search"}, {"search"}),
        ({"tool_selection": None}, {"calculator", "search"}),
        ({"tools_kwargs": {"search": {"create_kwargs": {}}, "calculator": None}}, {"search"}),
        ({"tools_kwargs": {"calc_gsm8k_reward": {"create_kwargs": {}}}}, {"calculator", "search"}),
        ({"tools_kwargs": None}, {"calculator", "search"}),
        ({"tool_selection": ["search"], "tools_kwargs": {"calculator": {}}}, {"search"}),
    ],
)
def test_rows_choose_tools_as_in_data_of_verl(extra_info: Mapping[str, Any], names: set[str]) -> None:
    assert chosen(["calculator", "search"], extra_info) == names


def test_a_tool_that_the_agent_lacks_fails_the_rollout_with_what_it_has() -> None:
    with pytest.raises(ValueError, match=r"tool_selection has 'serach'; the agent's tools are calculator, search"):
        chosen(["calculator", "search"], {"tool_selection": ["serach"]})
    with pytest.raises(ValueError, match=r"the agent's tools are none"):
        chosen([], {"tool_selection": ["search"]})


class Late(ToolSource):
    def __init__(self) -> None:
        self.started = 0
        self.closed = 0

    async def tools(self) -> Sequence[Tool]:
        self.started += 1
        return [search]

    async def close(self) -> None:
        self.closed += 1


def rolled(agent: Agent, tasks: Sequence[Task]) -> list[Any]:
    engine = ScriptedEngine([spelled(TOKENIZER, call_text("2+2")), spelled(TOKENIZER, "4")])
    settings = {"max_prompt_length": 1024, "max_response_length": 1024, "max_tokens": 256, "max_steps": 4}
    return asyncio.run(Driver(engine, ChatFormat(TOKENIZER), **settings).run(agent, tasks))


def test_a_task_is_shown_the_tools_that_it_may_use_and_no_other_answers() -> None:
    source = Late()
    agent = ToolAgent(tools=[calculator, source], reward=lambda task, messages: 1.0)
    free, bound = rolled(agent, [make_task(), make_task(extra_info={"tool_selection": ["search"]})])
    shown = [TOKENIZER.decode(one.prompt_tokens) for one in (free, bound)]
    assert ["calculator" in text for text in shown] == [True, False]
    assert ["search" in text for text in shown] == [True, True]
    answers = [one.chat_completions[2]["content"] for one in (free, bound)]
    assert answers == ["4", "Error: there is no tool 'calculator'; tools: search"]
    assert source.started == 2


def test_the_choice_may_be_made_by_the_agent() -> None:
    class Chooser(ToolAgent):
        async def tools_for(self, task: Task) -> Sequence[Tool]:
            return [one for one in await super().tools_for(task) if one.name == task.data_source]

    agent = Chooser(tools=[calculator, search], reward=lambda task, messages: 1.0)
    (trajectory,) = rolled(agent, [make_task(data_source="search")])
    assert "calculator" not in TOKENIZER.decode(trajectory.prompt_tokens)
    assert trajectory.metrics["tool_errors"] == 1


def test_two_tools_of_one_name_are_refused_also_when_a_source_brings_the_second() -> None:
    with pytest.raises(ValueError, match=r"two tools are called 'search'"):
        ToolAgent(tools=[search, search])
    (trajectory,) = rolled(ToolAgent(tools=[search, Late()]), [make_task()])
    assert "two tools are called 'search'" in trajectory.error


def test_an_agent_closes_its_sources_and_a_close_that_fails_is_told(caplog: pytest.LogCaptureFixture) -> None:
    source = Late()
    asyncio.run(close_agent(ToolAgent(tools=[source])))
    assert source.closed == 1

    class Stuck(ToolAgent):
        async def close(self) -> None:
            await asyncio.sleep(60)

    with caplog.at_level(logging.WARNING):
        asyncio.run(close_agent(Stuck(), seconds=0.05))
    assert "Stuck.close: LateError: close() took longer than 0.05 s" in caplog.text


def test_a_missing_package_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mcp", None)
    server = McpServer.stdio(sys.executable)
    with pytest.raises(McpError, match=r"pip install 'agentic-rl\[mcp\]'"):
        asyncio.run(server.tools())
    asyncio.run(server.close())
