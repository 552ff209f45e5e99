from __future__ import annotations

from pathlib import Path

import pytest

from agentic_rl.backends.verl.checkpoints import POINTER
from agentic_rl.backends.verl.inside.pruning import point_to, prune


def saved(folder: Path, *steps: int) -> None:
    for step in steps:
        (folder / f"global_step_{step}" / "actor").mkdir(parents=True)
    (folder / "notes").mkdir()
    (folder / "global_step_x").mkdir()


def left(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize(("keep", "stay"), [(1, [10]), (2, [9, 10]), (3, [2, 9, 10]), (9, [1, 2, 9, 10])])
def test_the_newest_stay_and_so_does_what_is_no_older_checkpoint(tmp_path: Path, keep: int, stay: list[int]) -> None:
    saved(tmp_path, 1, 2, 9, 10, 12)
    removed = prune(tmp_path, 10, keep)
    assert left(tmp_path) == sorted([*(f"global_step_{step}" for step in [*stay, 12]), "global_step_x", "notes"])
    assert [path.name for path in removed] == [f"global_step_{step}" for step in (1, 2, 9) if step not in stay]


def test_the_pointer_is_replaced_as_a_whole(tmp_path: Path) -> None:
    point_to(tmp_path, 3)
    before = (tmp_path / POINTER).stat().st_ino
    point_to(tmp_path, 12)
    assert (tmp_path / POINTER).read_text() == "12"
    assert (tmp_path / POINTER).stat().st_ino != before
    assert left(tmp_path) == [POINTER]
