"""The instances format on real verl: a hybrid run on one machine, killed, and gone on with by a class of the user's."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
from pathlib import Path

import psutil
import pytest
from verl_runs import LIMIT, measured, rollouts, start_program, wait_for

from agentic_rl.cluster.direct import ENTRYPOINT

pytestmark = [pytest.mark.verl, pytest.mark.integration, pytest.mark.timeout(900)]

EXAMPLES = Path(__file__).parents[3] / "examples"
MANAGER = '''
"""A manager of agent loops that adds nothing but a witness."""

import os

from verl.trainer.ppo.v1 import AgentLoopManagerTQ


class Counting(AgentLoopManagerTQ):
    def generate_sequences(self, prompts):
        with open(os.environ["WITNESS"], "a") as file:
            file.write("called\\n")
        return super().generate_sequences(prompts)
'''
SHORT = (
    "verl_conf.trainer.total_training_steps=3",
    "verl_conf.trainer.save_freq=1",
    "verl_conf.data.train_batch_size=4",
    "verl_conf.actor_rollout_ref.actor.ppo_mini_batch_size=4",
    "verl_conf.actor_rollout_ref.rollout.n=4",
)


def make(folder: Path) -> Path:
    spec = importlib.util.spec_from_file_location("make_verl_project", EXAMPLES / "verl" / "make_project.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    config: Path = module.make(folder, EXAMPLES / "instances" / "config.yaml")
    return config


def is_job(process: psutil.Process) -> bool:
    return ENTRYPOINT in process.cmdline()


def test_a_hybrid_run_goes_on_after_a_kill_with_a_manager_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = make(tmp_path / "project")
    here = tmp_path / "here"
    run = here / "checkpoints" / "example" / "instances"
    command = ["-m", "agentic_rl", "--config-path", str(config), *SHORT]
    first = start_program(command, here)
    wait_for(run / "latest_checkpointed_iteration.txt", "1", first)
    started = psutil.Process(first.pid).children(recursive=True)
    for process in [*filter(is_job, started), first]:  # the parent alone would have its job stop in good order
        os.kill(process.pid, signal.SIGKILL)
    first.communicate()
    assert psutil.wait_procs(started, timeout=150)[1] == []

    (tmp_path / "counting_manager.py").write_text(MANAGER, encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("WITNESS", str(tmp_path / "witness"))
    manager = "verl_conf.actor_rollout_ref.rollout.agent.agent_loop_manager_class=counting_manager.Counting"
    second = start_program([*command, manager], here)
    shown, told = second.communicate(timeout=LIMIT)
    assert second.returncode == 0, told
    log = shown + told + "".join(path.read_text() for path in (tmp_path / "project" / "log").glob("*.log"))
    assert "resumed from step 1" in log
    assert "finished: 3 steps" in log
    lines = measured(run)
    assert [line["step"] for line in lines] == [1, 2, 3]
    assert all(line["actor/kl_loss"] >= 0 for line in lines)
    assert lines[-1]["tool_calls/mean"] >= 0
    # Two steps after the resumed one; verl may ask for a batch ahead of the step that takes it.
    assert len((tmp_path / "witness").read_text().splitlines()) >= 2
    trajectories_are_where_the_agent_instance_says(tmp_path / "project", run)


def trajectories_are_where_the_agent_instance_says(project: Path, run: Path) -> None:
    own = rollouts(run)
    assert len(own) == 3 * 4 * 4
    lines = (project / "trajectories" / "rollouts.jsonl").read_text().splitlines()
    named = {(line["step"], line["idx"], line["sample"]) for line in map(json.loads, lines)}
    assert named >= {(line["step"], line["idx"], line["sample"]) for line in own}
