"""Training and inference apart, with real verl, Ray and vLLM, on one machine; `test_launch` has two nodes."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import psutil
import pytest
from tiny_verl_project import make
from verl_runs import LIMIT, measured, rollouts, start_program, wait_for

pytestmark = [pytest.mark.verl, pytest.mark.integration, pytest.mark.timeout(900)]

CHILD = str(Path(__file__).parent / "separate_child.py")
SLOW = '''
"""Two turns, and time between them; of each group one rollout breaks."""

import asyncio

from agentic_rl import Agent


class Slow(Agent):
    async def run(self, task, model):
        first = await model.chat(task.prompt)
        await asyncio.sleep(3)
        if task.sample == 3:
            raise RuntimeError("the service has gone away")
        last = await model.chat([*task.prompt, first, {"role": "user", "content": "again"}])
        return (len(last["content"] or "") % 5) / 4.0
'''
STALE = "samples/stale", "samples/staleness_max"


def test_a_killed_run_goes_on_and_never_learns_from_weights_more_than_a_step_old(tmp_path: Path) -> None:
    run = tmp_path / "here" / "checkpoints" / "tiny" / "one"
    config = make(tmp_path / "project", SLOW, device="cpu", total_training_steps=4, max_failed_fraction=0.3)
    more = json.dumps({"actor_rollout_ref.actor.ppo_mini_batch_size": 2})
    first = start_program([CHILD, str(config), more], tmp_path / "here")
    wait_for(run / "latest_checkpointed_iteration.txt", "2", first)
    started = psutil.Process(first.pid).children(recursive=True)
    os.kill(first.pid, signal.SIGKILL)
    first.communicate()
    assert psutil.wait_procs(started, timeout=150)[1] == []

    second = start_program([CHILD, str(config), more], tmp_path / "here")
    _, told = second.communicate(timeout=LIMIT)
    assert second.returncode == 0, told
    assert "resumed from step 2" in told
    lines = measured(run)
    assert [line["step"] for line in lines] == [1, 2, 3, 4]
    # The first batch is written with the weights that learn from it, each other one while the step before learns; the
    # one that was under way at the kill is begun anew, with the weights that were saved.
    assert [[line[name] for name in STALE] for line in (lines[0], lines[1], lines[3])] == [[0, 0], [16, 1], [16, 1]]
    assert lines[2]["samples/staleness_max"] <= 1
    every_server_acknowledged(lines)
    failures_and_parts_are_counted_over_the_whole_step(run, lines)


def every_server_acknowledged(lines: list[dict[str, Any]]) -> None:
    for line in lines:
        assert (line["weights/version"], line["weights/acknowledging_servers"]) == (line["step"], 1)
        assert line["weights/megabytes"] > 0.5


def failures_and_parts_are_counted_over_the_whole_step(run: Path, lines: list[dict[str, Any]]) -> None:
    """A step is two parts of two prompts; one rollout of the four of each prompt fails."""
    names = [(line["step"], line["idx"], line["sample"]) for line in rollouts(run)]
    assert names == [(step, idx, sample) for step in (1, 2, 3, 4) for idx in range(4) for sample in range(4)]
    assert all(line["reward/failed_fraction"] == pytest.approx(0.25) for line in lines)
    assert all("actor/pg_loss" in line or "policy/loss" in line for line in lines)
