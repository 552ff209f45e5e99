from __future__ import annotations

import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from agentic_rl.view import index as index_module
from agentic_rl.view.index import Index, Progress
from view_doubles import rollout, write_lines


def read(path: Path) -> tuple[Index, Progress]:
    index = Index(path)
    index.refresh()
    with index.reading() as (_, progress):
        return index, progress


def groups(index: Index) -> list[tuple[int, int, int]]:
    """Step, prompt and number of rollouts of each group."""
    with index.reading() as (columns, _):
        return [(columns.step[group], columns.idx[group], len(columns.rows(group))) for group in range(columns.groups)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    records = [rollout(step, idx, sample) for step in (1, 2) for idx in (0, 1) for sample in range(3)]
    return write_lines(tmp_path / "trajectories.jsonl", records)


def test_neighbours_of_one_step_and_prompt_are_a_group(path: Path) -> None:
    index, progress = read(path)
    assert groups(index) == [(1, 0, 3), (1, 1, 3), (2, 0, 3), (2, 1, 3)]
    assert progress == Progress(0, path.stat().st_size, path.stat().st_size, 0, torn=False)


def test_each_line_is_found_again(path: Path) -> None:
    index, _ = read(path)
    assert [index.line(row) for row in range(12)] == path.read_bytes().splitlines(keepends=True)
    with pytest.raises(LookupError, match="there is no rollout 12; there are 12"):
        index.line(12)
    with pytest.raises(LookupError):
        index.line(-1)


def test_what_is_added_is_found_and_joins_the_last_group(path: Path) -> None:
    index, _ = read(path)
    write_lines(path, [rollout(2, 1, 3), rollout(3, 0, 0)])
    index.refresh()
    assert groups(index)[3:] == [(2, 1, 4), (3, 0, 1)]


def test_a_torn_line_waits_for_its_rest(path: Path) -> None:
    whole = path.read_bytes()
    path.write_bytes(whole[:-40])
    index, progress = read(path)
    assert progress.torn
    assert groups(index)[-1] == (2, 1, 2)
    path.write_bytes(whole)
    index.refresh()
    with index.reading() as (_, progress):
        assert not progress.torn
    assert groups(index)[-1] == (2, 1, 3)


def test_a_run_that_goes_on_from_a_checkpoint_is_read_anew(path: Path) -> None:
    index, before = read(path)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:6]))
    write_lines(path, [rollout(2, idx, sample, reward=0.25) for idx in (5, 6, 7) for sample in range(3)])
    assert path.stat().st_size > before.done
    index.refresh()
    assert groups(index) == [(1, 0, 3), (1, 1, 3), (2, 5, 3), (2, 6, 3), (2, 7, 3)]
    with pytest.raises(LookupError, match="cut back or replaced"):
        index.line(0, before.generation)


def test_lines_that_are_no_rollouts_are_counted_and_passed_over(path: Path) -> None:
    path.write_bytes(b"garbage\n\n[1, 2]\n" + path.read_bytes())
    index, progress = read(path)
    assert progress.unreadable == 2
    assert len(groups(index)) == 4


def test_a_line_beyond_all_measure_is_passed_over(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_module, "MAX_LINE", 4_000)
    write_lines(path, [rollout(3, error="x" * 20_000), rollout(4)])
    index, progress = read(path)
    assert [group[0] for group in groups(index)] == [1, 1, 2, 2, 4]
    assert progress.unreadable == 1
    write_lines(path, [rollout(5, error="x" * 20_000)], end="")
    index.refresh()
    with index.reading() as (_, progress):
        assert progress.torn


def test_a_file_that_is_not_there_yet_is_an_empty_one(tmp_path: Path) -> None:
    index, progress = read(tmp_path / "none")
    assert progress == Progress(0, 0, 0, 0, torn=False)
    write_lines(tmp_path / "none", [rollout()])
    index.refresh()
    assert groups(index) == [(1, 0, 1)]


def test_the_file_is_followed_in_the_background(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_module, "PAUSE", 0.01)
    index = Index(path)
    index.follow()
    write_lines(path, [rollout(9)])
    until = time.monotonic() + 20
    while groups(index)[-1:] != [(9, 0, 1)]:
        assert time.monotonic() < until
        time.sleep(0.01)
    index.stop()


def test_what_is_read_shows_before_all_is_read(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    index, seen = Index(path), []
    publish = index._publish
    monkeypatch.setattr(index, "_publish", lambda *args, **rest: (publish(*args, **rest), seen.append(args[1])))
    monkeypatch.setattr(index_module, "time", SimpleNamespace(monotonic=iter(range(1000)).__next__))
    monkeypatch.setattr(index_module, "BATCH_SECONDS", 4)
    index.refresh()
    assert len(seen) > 1
    assert seen == sorted(seen)
