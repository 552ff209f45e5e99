"""Status files of nodes: whole at every moment, and a node that died is noticed."""

from __future__ import annotations

import json
import stat
import time
from pathlib import Path

import pytest

from agentic_rl.cluster.status import Lease, NodeStatus, StatusFile, read, read_all


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def written(path: Path, **changes: object) -> NodeStatus:
    """Write a status as a node would."""
    status = NodeStatus(1, "training", launch="a", **changes)  # type: ignore[arg-type]
    path.write_text(json.dumps(status.__dict__))
    return status


def test_a_status_is_written_and_read(tmp_path: Path) -> None:
    path = tmp_path / "nodes" / "node-3.json"
    with StatusFile(path, NodeStatus(3, "training master")) as file:
        file.update(state="running", step=7)
        found = read(path)
        assert found is not None
        assert (found.node, found.part, found.state, found.step) == (3, "training master", "running", 7)
        assert stat.S_IMODE(path.stat().st_mode) == 0o640
        file.update(state="finished", exit_status=0)
    assert read_all(tmp_path / "nodes")["node-3"].state == "finished"


def test_a_program_that_breaks_has_failed(tmp_path: Path) -> None:
    path = tmp_path / "node-0.json"
    with pytest.raises(ZeroDivisionError), StatusFile(path, NodeStatus(0, "training")):
        _ = 1 / 0
    found = read(path)
    assert found is not None
    assert found.state == "failed"


def test_it_beats_by_itself(tmp_path: Path) -> None:
    path = tmp_path / "node-0.json"
    with StatusFile(path, NodeStatus(0, "training"), beat_seconds=0.01):
        first, end = read(path), time.monotonic() + 10
        while (now := read(path)) and first and now.beat < first.beat + 3:
            assert time.monotonic() < end


def test_storage_that_refuses_later_does_not_end_the_job(tmp_path: Path) -> None:
    folder = tmp_path / "nodes"
    with StatusFile(folder / "node-0.json", NodeStatus(0, "training"), beat_seconds=60) as file:
        (folder / "node-0.json").unlink()
        folder.rmdir()
        file.update(state="running")
    assert file.status.state == "failed"


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"part": "training"}', "\x00"])
def test_a_file_that_says_nothing_is_none(tmp_path: Path, text: str) -> None:
    (tmp_path / "node-0.json").write_text(text)
    assert read(tmp_path / "node-0.json") is None
    assert read_all(tmp_path) == {}


def test_fields_of_later_versions_are_ignored(tmp_path: Path) -> None:
    (tmp_path / "node-0.json").write_text('{"node": 0, "part": "training", "later": 1}')
    assert read(tmp_path / "node-0.json") is not None


def test_a_beat_that_stands_still_expires_by_the_clock_of_the_reader(tmp_path: Path) -> None:
    path, clock = tmp_path / "node-1.json", Clock()
    lease = Lease(path, clock)
    assert lease.look() is None
    clock.now = 1000
    assert not lease.expired, "it has not come yet"
    written(path, beat=1, state="running", updated=-1e9)
    assert lease.look() is not None
    clock.now += 29
    assert not lease.expired
    written(path, beat=2, state="running")
    lease.look()
    clock.now += 29
    assert not lease.expired
    clock.now += 2
    lease.look()
    assert lease.expired


def test_a_node_that_ended_has_not_died(tmp_path: Path) -> None:
    path, clock = tmp_path / "node-1.json", Clock()
    lease = Lease(path, clock)
    written(path, beat=5, state="finished")
    assert lease.look() is not None
    clock.now = 1000
    assert not lease.expired


def test_what_an_earlier_launch_left_says_nothing(tmp_path: Path) -> None:
    path = tmp_path / "node-0.json"
    written(path, beat=9, state="finished", exit_status=0)
    lease = Lease(path, Clock())
    assert lease.look() is None
    written(path, beat=1, state="starting")
    found = lease.look()
    assert found is not None
    assert found.state == "starting"
