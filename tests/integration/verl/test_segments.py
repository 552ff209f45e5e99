"""Edited histories on real verl: every part of a trajectory is a sample, and the keys of tools reach the workers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tiny_verl_project import make
from verl_runs import LIMIT, measured, rollouts, start

pytestmark = [pytest.mark.verl, pytest.mark.integration, pytest.mark.timeout(900)]
AGENT = '''
"""Asks through the gateway, and changes in its second question what the policy answered to the first."""

import os

from openai import AsyncOpenAI

from agentic_rl import Agent


class Editing(Agent):
    async def run(self, task, model):
        told = os.environ["AGENTIC_RL_SEARCH"], os.environ["AGENTIC_RL_SEARCH_TOPK"], os.environ["AGENTIC_RL_SANDBOX"]
        assert told[0].endswith("documents.jsonl") and told[1:] == ("2", "weak"), told
        async with AsyncOpenAI(base_url=model.base_url, api_key=model.api_key) as client:
            ask = client.chat.completions.create
            await ask(model="policy", messages=task.prompt)
            edited = {"role": "assistant", "content": "something else"}
            messages = [*task.prompt, edited, {"role": "user", "content": "Go on."}]
            last = await ask(model="policy", messages=messages)
        return (len(last.choices[0].message.content or "") % 5) / 4.0
'''


def test_each_part_of_a_trajectory_is_a_sample(tmp_path: Path) -> None:
    project = tmp_path / "project"
    documents = project / "documents.jsonl"
    config = make(
        project,
        AGENT,
        agent_name="editing",
        search=str(documents),
        search_topk=2,
        sandbox="weak",
        total_training_steps=1,
    )
    documents.write_text(json.dumps({"id": "1", "contents": "Bern is a city."}) + "\n")
    documents.chmod(0o640)
    process = start(config, tmp_path / "here")
    _, told = process.communicate(timeout=LIMIT)
    assert process.returncode == 0, told
    run = tmp_path / "here" / "checkpoints" / "tiny" / "one"
    (line,) = measured(run)
    assert line["reward/failed_fraction"] == 0
    assert line["samples/mean"] == pytest.approx(2)
    lines = rollouts(run)
    assert len(lines) == 16
    assert all(not one["error"] and len(one["segments"]) == 2 for one in lines)
