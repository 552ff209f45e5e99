from __future__ import annotations

import asyncio

import pytest

from agentic_rl.agents import BaseEngineWrapper, MemoryConfig, MemorySummary, Step, StepTrajectory


def test_the_constructor_takes_the_released_keywords_by_name_and_by_position() -> None:
    wrapper = BaseEngineWrapper("math", "tokenizer", {"temperature": 1.0}, 10, 20, 3, 4)
    assert (wrapper.agent_name, wrapper.tokenizer, wrapper.sampling_params) == (
        "math",
        "tokenizer",
        {"temperature": 1.0},
    )
    assert (wrapper.max_prompt_length, wrapper.max_response_length) == (10, 20)
    assert (wrapper.n_parallel_agents, wrapper.max_steps) == (3, 4)
    assert wrapper.completions == wrapper.server_addresses == []


def test_a_wrapper_without_methods_says_what_it_lacks() -> None:
    wrapper = BaseEngineWrapper(agent_name="math", tokenizer=None)
    with pytest.raises(NotImplementedError, match="call generate_trajectory"):
        wrapper.generate_agent_trajectories_async([])
    with pytest.raises(NotImplementedError, match="call generate_agent_trajectories_async"):
        asyncio.run(wrapper.generate_trajectory({}))


def test_step_trajectories_are_built_as_released_files_build_them() -> None:
    step = Step(thought="t", action="a", observation="o", model_response="m", reward=0.5, done=True, mc_return=0.1)
    trajectory = StepTrajectory(prompt_tokens=[1], response_tokens=[2], response_masks=[1], task="x", steps=[step])
    assert (trajectory.task, trajectory.steps[0].reward, trajectory.idx) == ("x", 0.5, 0)


def test_the_memory_keeps_and_simplifies_messages() -> None:
    memory = MemorySummary({"simplify-thinking": True, "before_raw_message": 1, "unknown": 1})
    first = {"role": "assistant", "content": "<think>a</think>kept"}
    memory.add_message(first)
    memory.add_message({"role": "assistant", "content": "<think>b\n</think>\n\nsaid"})
    memory.add_message({"role": "user", "content": "<think>c</think>"})
    assert [message["content"] for message in memory.get_prompt_messages()] == [
        "<think>a</think>kept",
        "said",
        "<think>c</think>",
    ]
    assert len(memory.get_messages()) == 3
    assert memory.get_prompt_messages({"simplify_thinking": False}) == memory.get_messages()
    with pytest.raises(NotImplementedError, match="use_summary"):
        memory.get_prompt_messages({"use_summary": True})
    memory.clear()
    assert memory.get_messages() == []
    assert MemoryConfig().max_prompt_length == 8192


def test_the_memory_takes_several_messages_and_begins_anew() -> None:
    memory = MemorySummary()
    memory.add_message([{"role": "user", "content": str(number)} for number in range(3)])
    assert [one["content"] for one in memory.get_window_messages(2)] == ["1", "2"]
    assert memory.get_window_messages(0) == []
    assert len(memory.get_window_messages()) == 3
    memory.clear_memory("system", "Be brief.")
    assert memory.get_messages() == [{"role": "system", "content": "Be brief."}]
    memory.update_config({"use-summary": True})
    assert memory.config.use_summary
