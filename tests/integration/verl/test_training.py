"""Three runs of real verl, with Ray and vLLM: trained and killed, gone on with, and full of failures."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import psutil
import pytest
import tiny_verl_project
from tiny_verl_project import make
from verl_runs import LIMIT, measured, rollouts, start, wait_for

pytestmark = [pytest.mark.verl, pytest.mark.integration, pytest.mark.timeout(900)]


def left(processes: list[psutil.Process]) -> list[str]:
    """What is still there of the processes; Ray's own notice some time later that the others are gone."""
    _, alive = psutil.wait_procs(processes, timeout=150)
    return [process.name() for process in alive]


def test_a_killed_run_goes_on_at_the_next_step(tmp_path: Path) -> None:
    config = make(
        tmp_path / "project",
        use_kl_in_reward=True,
        use_stepwise_advantage=True,
        keep_checkpoints=1,
        total_training_steps=3,
    )
    run = tmp_path / "here" / "checkpoints" / "tiny" / "one"
    first = start(config, tmp_path / "here")
    wait_for(run / "latest_checkpointed_iteration.txt", "1", first)
    started = psutil.Process(first.pid).children(recursive=True)
    assert len(started) > 5
    os.kill(first.pid, signal.SIGKILL)
    first.communicate()
    assert left(started) == []

    second = start(config, tmp_path / "here")
    _, told = second.communicate(timeout=LIMIT)
    assert second.returncode == 0, told
    assert "resumed from step 1" in told
    assert "finished: 3 steps" in told
    lines = measured(run)
    assert [line["step"] for line in lines] == [1, 2, 3]
    assert (run / "latest_checkpointed_iteration.txt").read_text() == "3"
    assert [path.name for path in run.glob("global_step_*")] == ["global_step_3"]
    every_rollout_is_written_down_once(run)
    kl_really_changes_the_rewards(lines)
    turns_are_samples(run, lines)


def every_rollout_is_written_down_once(run: Path) -> None:
    lines = rollouts(run)
    names = [(line["step"], line["idx"], line["sample"]) for line in lines]
    assert names == sorted(set(names))
    assert {step for step, _, _ in names} == {1, 2, 3}
    assert len(names) % 3 == 0
    assert all(1 in rollout["response_mask"] and rollout["messages"] for rollout in lines)


def kl_really_changes_the_rewards(lines: list[dict[str, Any]]) -> None:
    """At the first step the policy is the reference; afterwards the penalty takes from the agent's reward."""
    for line in lines:
        penalised = line["critic/score/mean"] - line["critic/rewards/mean"]
        assert penalised == pytest.approx(0, abs=1e-3) or abs(line["actor/reward_kl_penalty"]) > 1e-4
    assert any(abs(line["critic/score/mean"] - line["critic/rewards/mean"]) > 1e-4 for line in lines[1:])


def turns_are_samples(run: Path, lines: list[dict[str, Any]]) -> None:
    for line in lines:
        assert line["turns/mean"] == pytest.approx(2, abs=0.5)
        assert line["samples/mean"] == pytest.approx(line["turns/mean"])


def test_failures_below_the_share_are_left_out_and_above_it_end_the_run(tmp_path: Path) -> None:
    config = make(
        tmp_path / "project",
        tiny_verl_project.FAILING,
        trajectory_timeout=20.0,
        turn_timeout=15.0,
        max_failed_fraction=0.6,
        total_training_steps=2,
    )
    run = tmp_path / "here" / "checkpoints" / "tiny" / "one"
    process = start(config, tmp_path / "here")
    _, told = process.communicate(timeout=LIMIT)
    assert process.returncode == 1, told
    (line,) = measured(run)
    assert line["reward/failed_fraction"] == pytest.approx(0.5)
    assert line["timed_out/fraction"] == pytest.approx(0.25)
    assert "step 2: 16 of 16 rollouts failed, more than max_failed_fraction 0.6" in told
    assert "the service has gone away" in told
    assert "Traceback" not in told
    assert (run / "latest_checkpointed_iteration.txt").read_text() == "1"
    assert (run / "ray_logs").is_dir()
