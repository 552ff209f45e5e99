"""The same command in two network namespaces, with real Ray and a job that only looks at its cluster."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import fake_backend
import psutil
import pytest
import two_nodes

from agentic_rl.cluster.status import NodeStatus, read
from cluster_doubles import make_set

pytestmark = [pytest.mark.verl, pytest.mark.integration, pytest.mark.timeout(600)]
LIMIT = 180


@dataclass
class Pair:
    """An inference node and a training master, and the folder that they share."""

    nodes: tuple[two_nodes.Node, two_nodes.Node]
    here: Path
    variables: dict[str, str]
    running: dict[int, subprocess.Popen[str]] = field(default_factory=dict)

    @property
    def run(self) -> Path:
        return self.here / "checkpoints" / "instances" / "one_step_off"

    def start(self, index: int, *options: str, command: str = "launch", how: str = "finish") -> None:
        """Start the command on a node; it has to find out which one that is."""
        files = [
            "--hosts",
            str(self.here / "set/configs/hosts.conf"),
            "--base",
            str(self.here / "set/configs/base.conf"),
        ]
        self.running[index] = self.nodes[index].start(
            sys.executable,
            "-m",
            "agentic_rl",
            command,
            *files,
            *options,
            log=self.here / f"output-{index}.txt",
            cwd=self.here,
            variables={**self.variables, "AGENTIC_RL_FAKE": how},
        )

    def output(self, index: int) -> str:
        return (self.here / f"output-{index}.txt").read_text()

    def ended(self) -> list[int]:
        """The exit statuses of all nodes."""
        try:
            return [self.running[index].wait(LIMIT) for index in sorted(self.running)]
        except subprocess.TimeoutExpired:
            raise AssertionError("\n".join(self.output(index) for index in self.running)) from None

    def status(self, index: int) -> NodeStatus:
        found = read(self.run / "nodes" / f"node-{index}.json")
        assert found is not None
        return found

    def until(self, path: Path) -> None:
        end = time.monotonic() + LIMIT
        while not path.exists():
            assert time.monotonic() < end, self.output(0) + self.output(1)
            time.sleep(0.2)

    def left(self) -> list[str]:
        """What still runs on the nodes."""
        end = time.monotonic() + 20
        while (found := sorted({*self.nodes[0].running(), *self.nodes[1].running()})) and time.monotonic() < end:
            time.sleep(0.2)
        return found


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[Pair]:
    reason = two_nodes.why_not()
    if reason:
        pytest.skip(reason)
    with two_nodes.two_nodes() as nodes:
        rows = "".join(f"{node.address},{index},{index}\n" for index, node in enumerate(nodes))
        configs = make_set(tmp_path / "set", rows, "one_step_off", max_retries=3)
        train = configs / "train" / "verl_one_step_off.yaml"
        text = (
            train.read_text().replace("device: gpu", "device: cpu").replace("n_gpus_per_node: 8", "n_gpus_per_node: 1")
        )
        train.write_text(text)
        infer = configs / "infer" / "vllm.yaml"
        infer.write_text(infer.read_text().replace("data_parallel_size: 8", "data_parallel_size: 1"))
        pair = Pair(nodes, tmp_path, fake_backend.install(tmp_path / "fake"))
        yield pair
        for process in pair.running.values():
            process.kill()
            process.wait()


def test_both_nodes_find_their_part_and_end_with_the_job(pair: Pair) -> None:
    pair.start(0)  # the one that joins may come first
    pair.start(1)
    assert pair.ended() == [0, 0], pair.output(0) + pair.output(1)
    seen = json.loads((pair.run / "seen.json").read_text())
    first, master = pair.nodes
    assert seen == {"training": master.address, "inference": first.address, "nodes": 2, "infer": "1"}
    assert "node 0 (10.213.77.1): inference node, one of 2" in pair.output(0)
    assert "node 1 (10.213.77.2): training master, one of 2" in pair.output(1)
    assert [pair.status(index).state for index in (0, 1)] == ["finished", "finished"]
    assert (pair.run / "nodes" / "ray.token").stat().st_mode & 0o007 == 0
    assert pair.left() == []


def test_a_job_that_was_killed_goes_on_under_the_supervisors_of_both_nodes(pair: Pair) -> None:
    for index in (0, 1):
        pair.start(index, "--first-wait", "1", command="supervise", how="die")
    assert pair.ended() == [0, 0], pair.output(0) + pair.output(1)
    assert "starting again" in pair.output(1)
    assert len(list(pair.run.glob("global_step_*"))) == 2
    supervisors = [read(pair.run / "nodes" / f"supervisor-{index}.json") for index in (0, 1)]
    assert [one and (one.state, one.attempt) for one in supervisors] == [("finished", 1), ("finished", 1)]
    assert pair.left() == []


def test_a_signal_to_the_master_reaches_the_job_and_ends_both(pair: Pair) -> None:
    for index in (0, 1):
        pair.start(index, how="wait")
    pair.until(pair.run / "seen.json")
    time.sleep(1)
    os.kill(pair.running[1].pid, signal.SIGTERM)
    assert pair.ended() == [130, 130], pair.output(0) + pair.output(1)
    assert pair.left() == []


def test_a_node_that_dies_ends_the_job_with_a_clear_word(pair: Pair) -> None:
    for index in (0, 1):
        pair.start(index, how="wait")
    pair.until(pair.run / "seen.json")
    for process in two_nodes._below(pair.nodes[0]):
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()
    assert pair.running[1].wait(LIMIT) == 1
    assert "node 0 (10.213.77.1) is dead: it has not said anything for 30 s" in pair.output(1)
    assert pair.status(1).state == "failed"
    assert pair.left() == []


def test_a_head_that_never_comes_is_waited_for_only_so_long(pair: Pair) -> None:
    pair.start(0, "--wait", "3")
    assert pair.ended() == [1]
    assert "the training master (10.213.77.2) has not written" in pair.output(0)
    assert "start the same command there" in pair.output(0)
    assert pair.left() == []
