"""The same command on two nodes with files of the instances format: one trains, the other infers, with real verl."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
import test_instances
from two_nodes import Node, two_nodes, why_not
from verl_runs import LIMIT, measured, rollouts

from agentic_rl.cluster.status import read

pytestmark = [pytest.mark.verl, pytest.mark.integration, pytest.mark.timeout(900)]

BASE = "work_mode=one_step_off\ntrain_config_name=config\ninfer_config_name=servers\n"
SERVERS = """
infer_model_name: model
infer_model_path: {model}
tensor_parallel_size: 1
data_parallel_size: 1
max_num_seqs: 32
"""
OVERRIDES = (
    *test_instances.SHORT,
    "verl_conf.trainer.val_before_train=true",
    "verl_conf.trainer.test_freq=3",
    "verl_conf.data.val_max_samples=32",
    "verl_conf.actor_rollout_ref.rollout.checkpoint_engine.backend=naive",
)
ENGINE = ("ray::vLLMHttpServer", "VLLM::")
TRAINER = "ray::WorkerDict"
END_LIMIT = 20
SHARED = Path("/dev/shm")


def make_set(folder: Path, inference: Node, training: Node) -> None:
    """The example of the instances format, with training and inference apart."""
    config = test_instances.make(folder)
    text = config.read_text()
    assert "cluster_mode: hybrid" in text
    config.write_text(text.replace("cluster_mode: hybrid", "cluster_mode: one_step_off"))
    (folder / "hosts.conf").write_text(f"{inference.address},0,0\n{training.address},1,1\n")
    (folder / "base.conf").write_text(BASE)
    (folder / "infer").mkdir()
    (folder / "infer" / "servers.yaml").write_text(SERVERS.format(model=folder / "model"))


def launch(node: Node, folder: Path, here: Path) -> tuple[subprocess.Popen[str], Path]:
    files = ["--hosts", str(folder / "hosts.conf"), "--base", str(folder / "base.conf")]
    command = [sys.executable, "-m", "agentic_rl", "launch", *files, *OVERRIDES]
    log = here / f"output-{node.address}.txt"
    return node.start(*command, log=log, cwd=here), log


def watched(processes: Sequence[subprocess.Popen[str]], nodes: Sequence[Node]) -> list[set[str]]:
    """What ran on each node until all processes ended."""
    seen: list[set[str]] = [set() for _ in nodes]
    deadline = time.monotonic() + LIMIT
    while any(process.poll() is None for process in processes) and time.monotonic() < deadline:
        for node, names in zip(nodes, seen, strict=True):
            names.update(node.running())
        time.sleep(1)
    return seen


def left(nodes: Sequence[Node]) -> list[str]:
    """What still runs on the nodes, once it had time to end."""
    deadline = time.monotonic() + END_LIMIT
    while (found := sorted(set().union(*(node.running() for node in nodes)))) and time.monotonic() < deadline:
        time.sleep(0.2)
    return found


def test_one_command_on_two_nodes_trains_and_infers_apart(tmp_path: Path) -> None:
    reason = why_not()
    if reason:
        pytest.skip(reason)
    here = tmp_path / "here"
    here.mkdir()
    shared = set(SHARED.iterdir())
    with two_nodes() as nodes:
        make_set(tmp_path / "set", *nodes)
        processes, logs = zip(*(launch(node, tmp_path / "set", here) for node in nodes), strict=True)
        inferring, training = watched(processes, nodes)
        told = [log.read_text() for log in logs]
        assert [process.poll() for process in processes] == [0, 0], "\n".join(told)
        assert left(nodes) == []
    assert {path.name for path in set(SHARED.iterdir()) - shared if path.name.startswith("psm_")} == set()

    assert "node 0 (10.213.77.1): inference node, one of 2" in told[0]
    assert "node 1 (10.213.77.2): training master, one of 2" in told[1]
    assert "with one_step_off on cpu the weights travel by agentic_rl" in told[1]
    assert any(name.startswith(TRAINER) for name in training), training
    assert not any(name.startswith(TRAINER) for name in inferring), inferring
    assert {name for name in ENGINE if any(one.startswith(name) for one in inferring)} == set(ENGINE), inferring
    assert not any(one.startswith(ENGINE) for one in training), training
    run = here / "checkpoints" / "example" / "instances"
    three_steps_none_of_them_more_than_a_step_old(run)
    states = [read(run / "nodes" / f"node-{index}.json") for index in (0, 1)]
    assert [(one.state, one.exit_status) for one in states if one] == [("finished", 0)] * 2


def three_steps_none_of_them_more_than_a_step_old(run: Path) -> None:
    lines = [line for line in measured(run) if line["phase"] == "training"]
    assert [line["step"] for line in lines] == [1, 2, 3]
    assert [(line["samples/stale"], line["samples/staleness_max"]) for line in lines] == [(0, 0), (16, 1), (16, 1)]
    assert [line["weights/version"] for line in lines] == [1, 2, 3]
    assert [line["weights/acknowledging_servers"] for line in lines] == [1, 1, 1]
    assert len(rollouts(run)) == 3 * 16
    evaluations = [line for line in measured(run) if line["phase"] == "evaluation"]
    assert [line["step"] for line in evaluations] == [0, 3]
    assert all(0 <= line["eval/reward"] <= 1 for line in evaluations)
