from __future__ import annotations

import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentic_rl.backends.verl.checkpoints import DATA_ORDER, POINTER, Checkpoint, is_whole, newest


def write(folder: Path, step: int, *, ranks: int = 2, missing: int = 0, order: str = "whole") -> Path:
    """A checkpoint of verl that lacks the models of `missing` ranks, or whose last file is torn or not there."""
    path = folder / f"global_step_{step}"
    (path / "actor").mkdir(parents=True, exist_ok=True)
    for rank in range(ranks - missing):
        (path / "actor" / f"model_world_size_{ranks}_rank_{rank}.pt").touch()
    if order != "missing":
        with zipfile.ZipFile(path / DATA_ORDER, "w") as archive:
            archive.writestr("data", "order" * 100)
    if order == "torn":
        content = (path / DATA_ORDER).read_bytes()
        (path / DATA_ORDER).write_bytes(content[: len(content) // 2])
    return path


def test_a_folder_without_checkpoints_has_none(tmp_path: Path) -> None:
    assert newest(tmp_path) is None
    assert newest(tmp_path / "missing") is None


def test_the_pointer_decides(tmp_path: Path) -> None:
    for step in (9, 10, 11):
        write(tmp_path, step)
    (tmp_path / POINTER).write_text("10")
    assert newest(tmp_path) == Checkpoint(10, tmp_path / "global_step_10")


def test_without_a_pointer_no_save_was_finished(tmp_path: Path) -> None:
    write(tmp_path, 5)
    assert newest(tmp_path) is None


@pytest.mark.parametrize("pointer", ["", "1x", "-3", "9" * 5000, "²", "\n"])
def test_with_a_torn_pointer_it_is_the_newest_whole_one(tmp_path: Path, pointer: str) -> None:
    write(tmp_path, 9)
    write(tmp_path, 10)
    write(tmp_path, 11, order="torn")
    write(tmp_path, 12, missing=1)
    (tmp_path / POINTER).write_text(pointer, encoding="utf-8")
    assert newest(tmp_path) == Checkpoint(10, tmp_path / "global_step_10")


@pytest.mark.parametrize(
    ("changes", "whole"),
    [
        ({}, True),
        ({"ranks": 1}, True),
        ({"missing": 1}, False),
        ({"missing": 2}, False),
        ({"order": "torn"}, False),
        ({"order": "missing"}, False),
    ],
)
def test_a_checkpoint_is_whole_with_every_rank_and_the_last_file(
    tmp_path: Path, changes: dict[str, int], whole: bool
) -> None:
    assert is_whole(write(tmp_path, 1, **changes)) is whole  # type: ignore[arg-type]


def test_ranks_of_two_runs_make_none(tmp_path: Path) -> None:
    write(tmp_path, 1, ranks=1)
    assert not is_whole(write(tmp_path, 1, ranks=2))


def test_a_name_that_promises_millions_of_ranks_costs_nothing(tmp_path: Path) -> None:
    path = write(tmp_path, 1, ranks=0)
    (path / "actor" / "model_world_size_9999999_rank_0.pt").touch()
    assert not is_whole(path)


@given(
    st.dictionaries(
        st.integers(0, 30), st.tuples(st.integers(0, 2), st.sampled_from(["whole", "torn", "missing"])), max_size=5
    ),
    st.one_of(st.none(), st.binary(max_size=3), st.integers(0, 31).map(lambda step: str(step).encode())),
)
def test_what_is_chosen_is_pointed_at_or_whole(
    tmp_path_factory: pytest.TempPathFactory, there: dict[int, tuple[int, str]], pointer: bytes | None
) -> None:
    folder = tmp_path_factory.mktemp("run")
    for step, (missing, order) in there.items():
        write(folder, step, missing=missing, order=order)
    if pointer is not None:
        (folder / POINTER).write_bytes(pointer)
    whole = {step for step, state in there.items() if state == (0, "whole")}
    found = newest(folder)
    if pointer is None:
        assert found is None
    elif pointer.isdigit() and int(pointer) in there:
        assert found is not None
        assert found.step == int(pointer)
    else:
        assert (found.step if found else None) == max(whole, default=None)
