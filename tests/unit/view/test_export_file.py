from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import pytest

from agentic_rl.view import export as export_run
from agentic_rl.view import find_run
from agentic_rl.view.export_file import chosen_groups
from agentic_rl.view.index import Index
from view_doubles import SCRIPT, rollout, write_lines, write_run


def data_of(file: Path) -> Any:
    text = file.read_text()
    return json.loads(text.partition('id="data">')[2].partition("</script>")[0])


def test_the_file_has_the_whole_run(tmp_path: Path) -> None:
    run = write_run(tmp_path / "calc" / "seed-0")
    assert export_run(find_run(run), tmp_path / "run.html") == (4, 4)
    data = data_of(tmp_path / "run.html")
    assert data["run"]["title"] == "calc/seed-0"
    assert len(data["listing"]["groups"]) == 4
    assert list(data["rollouts"]) == [str(row) for row in range(16)]
    assert data["rollouts"]["0"]["parts"][0]["texts"][:2] == ["Let", " me"]
    assert data["curves"]["curves"][0]["name"] == "reward/mean"


def test_it_may_be_read_by_its_owner_and_group_alone(tmp_path: Path) -> None:
    export_run(find_run(write_run(tmp_path / "run")), tmp_path / "run.html")
    assert stat.S_IMODE((tmp_path / "run.html").stat().st_mode) == 0o640


def test_hostile_texts_do_not_leave_their_place(tmp_path: Path) -> None:
    messages = [{"role": "user", "content": SCRIPT}, {"role": "assistant", "content": "\ud800"}]
    run = write_run(tmp_path / "run", [rollout(messages=messages, data_source=SCRIPT, error=SCRIPT)])
    export_run(find_run(run), tmp_path / "run.html")
    assert SCRIPT not in (tmp_path / "run.html").read_text()
    assert data_of(tmp_path / "run.html")["rollouts"]["0"]["messages"][0]["text"] == SCRIPT


def test_a_large_tool_result_is_cut(tmp_path: Path) -> None:
    messages = [{"role": "tool", "content": "x" * 1_000_000}]
    export_run(find_run(write_run(tmp_path / "run", [rollout(messages=messages)])), tmp_path / "run.html")
    assert (tmp_path / "run.html").stat().st_size < 300_000


@pytest.fixture
def index(tmp_path: Path) -> Index:
    """Ten steps of four groups of two rollouts, all lines of one length."""
    records = [rollout(step, idx, sample) for step in range(10, 20) for idx in range(4) for sample in range(2)]
    index = Index(write_lines(tmp_path / "lines", records))
    index.refresh()
    return index


@pytest.mark.parametrize(
    ("groups_of_budget", "steps"),
    [
        (40, [step for step in range(10, 20) for _ in range(4)]),
        (20, [step for step in range(10, 20) for _ in range(2)]),
        (10, list(range(10, 20))),
        (3, [10, 14, 19]),
        (1, [19]),
        (0, [19]),
    ],
)
def test_each_step_gets_its_share(index: Index, groups_of_budget: int, steps: list[int]) -> None:
    with index.reading() as (columns, _):
        group = 2 * columns.length[0]
        chosen = chosen_groups(columns, groups_of_budget * group)
        assert [columns.step[one] for one in chosen] == steps


def test_nothing_to_choose_from(tmp_path: Path) -> None:
    with Index(tmp_path / "none").reading() as (columns, _):
        assert chosen_groups(columns, 100) == []
