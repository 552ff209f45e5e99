from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentic_rl.backends.errors import RunFolderBusyError
from agentic_rl.backends.verl.folder import opened


def test_what_an_earlier_start_left_for_itself_is_gone(tmp_path: Path) -> None:
    with opened(tmp_path) as folder:
        folder.forget_last_start()
        for file in (folder.own.metrics, folder.own.events, folder.own.stop, folder.own.store / "group-1"):
            file.touch()
        folder.metrics.write({"step": 1})
    with opened(tmp_path) as folder:
        folder.forget_last_start()
        assert not any(file.exists() for file in (folder.own.metrics, folder.own.events, folder.own.stop))
        assert list(folder.own.store.iterdir()) == []
    assert (tmp_path / "metrics.jsonl").read_text() == '{"step": 1}\n'


def test_one_run_at_a_time_has_the_folder(tmp_path: Path) -> None:
    with opened(tmp_path), pytest.raises(RunFolderBusyError), opened(tmp_path):
        pass


@given(st.lists(st.integers(0, 9)), st.integers(0, 9), st.sampled_from(["", "{", '{"step": 3', '{"step": 3}', "[]\n"]))
def test_going_back_keeps_whole_lines_up_to_a_step(
    tmp_path_factory: pytest.TempPathFactory, steps: list[int], step: int, torn: str
) -> None:
    path = tmp_path_factory.mktemp("run")
    with opened(path) as folder:
        for one in steps:
            folder.metrics.write({"phase": "training", "step": one})
    with (path / "metrics.jsonl").open("a") as file:
        file.write(torn)  # of a process that was killed
    with opened(path) as folder:
        folder.go_back_to(step)
        folder.go_back_to(step)
        folder.metrics.write({"step": 99})
    lines = (path / "metrics.jsonl").read_text().splitlines()
    assert [json.loads(line)["step"] for line in lines] == [*(one for one in steps if one <= step), 99]


@given(
    st.lists(st.integers(1, 9)).map(sorted), st.integers(0, 9), st.sampled_from(["", "{", '{"schema": 2, "step": 1, '])
)
def test_going_back_cuts_the_trajectories_of_later_steps(
    tmp_path_factory: pytest.TempPathFactory, steps: list[int], step: int, torn: str
) -> None:
    path = tmp_path_factory.mktemp("run")
    lines = [json.dumps({"schema": 2, "step": one, "idx": 0}) + "\n" for one in steps]
    (path / "trajectories.jsonl").write_text("".join(lines) + torn)
    with opened(path) as folder:
        folder.go_back_to(step)
    kept = (path / "trajectories.jsonl").read_text()
    assert kept == "".join(line for line, one in zip(lines, steps, strict=True) if one <= step)
