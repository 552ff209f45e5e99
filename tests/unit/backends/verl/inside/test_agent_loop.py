"""Our agent loop as verl makes and runs it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from verl_server_doubles import ANSWER, FORMAT, GREEDY, TRAINING, ServerManager, import_verl, row, settings

if not import_verl():
    pytest.skip("verl is not installed", allow_module_level=True)

import hydra
from omegaconf import OmegaConf
from verl.experimental.agent_loop.agent_loop import AgentLoopOutput, DictConfigWrap, ToolListWrap
from verl.utils.dataset.rl_dataset import RLHFDataset

from agentic_rl.backends.verl.inside.names import AGENT_LOOP
from rollout_doubles import call_text, spelled

pytestmark = pytest.mark.verl

CALL = spelled(FORMAT.tokenizer, call_text("7*12"))
ROLLOUT = {"prompt_length": 2000, "response_length": 400, "max_model_len": None}
KEYS = {"min_global_steps", "max_global_steps", "reward_extra_info", "turn_scores", "tool_rewards", "rollout", "record"}


def loop(manager: ServerManager, **changes: Any) -> Any:
    """As `AgentLoopWorker` makes one for each rollout."""
    config = OmegaConf.create({"actor_rollout_ref": {"rollout": ROLLOUT}, "data": {}})
    entry = OmegaConf.create([{"name": "math", "_target_": AGENT_LOOP, "settings": settings(**changes).to_text()}])[0]
    return hydra.utils.instantiate(
        config=entry,
        trainer_config=DictConfigWrap(config=config),
        server_manager=manager,
        tokenizer=FORMAT.tokenizer,
        processor=None,
        hf_model_type="qwen2",
        dataset_cls=RLHFDataset,
        data_config=DictConfigWrap(config.data),
        tools=ToolListWrap([]),
    )


def run(manager: ServerManager, params: dict[str, Any] = TRAINING, **given: Any) -> Any:
    changes = {name: given.pop(name) for name in list(given) if name in settings().to_dict()}

    async def whole() -> Any:
        return await loop(manager, **changes).run(dict(params), **row(**given), priority=3)

    return asyncio.run(whole())


def test_a_rollout_of_several_turns_is_one_output() -> None:
    output = run(ServerManager(CALL, ANSWER))
    assert isinstance(output, AgentLoopOutput)
    fields = output.as_dict()
    assert len(fields["responses"]) == len(fields["response_mask"]) == len(fields["rollout_log_probs"])
    written = [token for token, own in zip(output.response_ids, output.response_mask, strict=True) if own]
    assert written == [*CALL, *ANSWER]
    assert fields["rm_scores"].tolist() == [0.0] * (len(output.response_ids) - 1) + [1.0]
    assert output.num_turns == 4
    assert set(output.extra_fields) == KEYS
    info = output.extra_fields["reward_extra_info"]
    assert (info["turns"], info["tool_calls"], info["failed"], info["error"]) == (2.0, 1.0, 0.0, "")
    assert (output.extra_fields["min_global_steps"], output.extra_fields["max_global_steps"]) == (4, 4)
    assert output.metrics.generate_sequences > 0


def test_stepwise_outputs_are_a_list_and_continue_each_other() -> None:
    first, second = run(ServerManager(CALL, ANSWER), stepwise=True)
    assert (first.response_ids, second.response_ids) == (CALL, ANSWER)
    assert second.prompt_ids[: len(first.prompt_ids) + len(CALL)] == [*first.prompt_ids, *CALL]
    assert first.reward_score == second.reward_score == 1.0
    assert first.extra_fields["rollout"] == second.extra_fields["rollout"]


def test_each_segment_of_a_rollout_is_an_output(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(
        "from agentic_rl import Agent\nclass Mine(Agent):\n    async def run(self, task, model):\n"
        "        for _ in range(2):\n            await model.conversation.complete(task.prompt)\n        return 0.5\n"
    )
    first, second = run(ServerManager(CALL, ANSWER), agent_file=str(file))
    assert (first.response_ids, second.response_ids) == (CALL, ANSWER)
    assert first.prompt_ids == second.prompt_ids
    assert first.reward_score == second.reward_score == 0.5
    assert first.extra_fields["rollout"] == second.extra_fields["rollout"]


def test_validation_takes_the_most_probable_tokens() -> None:
    manager = ServerManager()
    run(manager, GREEDY)
    assert manager.requests[0].sampling["temperature"] == 0


class Dead(ServerManager):
    async def generate(self, *args: Any, **named: Any) -> Any:
        raise ConnectionError("the server is gone")


BROKEN = [
    ({}, Dead(), "ConnectionError: the server is gone"),
    ({"raw_prompt": 7}, ServerManager(), "TypeError"),
    ({"agent_name": "nobody"}, ServerManager(), "UnknownAgentError: no agent is called 'nobody'"),
    ({"max_prompt_length": 5}, ServerManager(), "PromptTooLongError"),
]


@pytest.mark.parametrize(("given", "manager", "reason"), BROKEN)
@pytest.mark.parametrize("stepwise", [False, True])
def test_whatever_goes_wrong_is_a_masked_output_with_the_reason(
    given: dict[str, Any], manager: ServerManager, reason: str, stepwise: bool
) -> None:
    output = run(manager, stepwise=stepwise, **given)
    (output,) = output if stepwise else [output]
    assert reason in output.extra_fields["rollout"]["error"]
    assert set(output.extra_fields) == KEYS
    assert (sum(output.response_mask), output.reward_score, len(output.response_ids) > 0) == (0, 0.0, True)
    assert 0 < len(output.prompt_ids) <= given.get("max_prompt_length", 2000)
    assert (output.extra_fields["min_global_steps"], output.extra_fields["max_global_steps"]) == (4, 4)


def test_an_agent_that_breaks_its_own_metrics_harms_itself_alone(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(
        "from agentic_rl import Agent\nclass Mine(Agent):\n    async def run(self, task, model):\n"
        "        model.metrics = None\n        return 1.0\n"
    )
    output = run(ServerManager(), agent_file=str(file))
    assert "AttributeError" in output.extra_fields["rollout"]["error"]


def test_the_line_of_the_users_file_is_named(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(
        "from agentic_rl import Agent\nclass Mine(Agent):\n    async def run(self, task, model):\n        1 / 0\n"
    )
    output = run(ServerManager(), agent_file=str(file))
    assert output.extra_fields["rollout"]["error"] == f"ZeroDivisionError: division by zero ({file}:4)"
