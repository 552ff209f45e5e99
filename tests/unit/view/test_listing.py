from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agentic_rl.view import listing as listing_module
from agentic_rl.view.index import Index
from agentic_rl.view.listing import listing
from view_doubles import rollout, with_advantage, write_lines


def answer(path: Path, start: int = 0) -> dict[str, Any]:
    index = Index(path)
    index.refresh()
    found: dict[str, Any] = json.loads(json.dumps(listing(index, start), allow_nan=False))
    return found


def test_a_group_with_computed_advantages(tmp_path: Path) -> None:
    records = [rollout(1, 0, sample) for sample in range(4)]
    records[3] = {**records[3], "error": "broke", "finish_reason": "error"}
    (group,) = answer(write_lines(tmp_path / "lines", records))["groups"]
    assert group == {
        "row": 0,
        "step": 1,
        "idx": 0,
        "source": 0,
        "opening": "What is 6*7 in step 1?",
        "samples": [0, 1, 2, 3],
        "rewards": [0.0, 1.0, 0.0, 1.0],
        "advantages": [-0.57735, 1.1547, -0.57735, 0.0],
        "computed": True,
        "finishes": [0, 0, 0, 1],
        "failed": [0, 0, 0, 1],
    }


def test_stored_advantages_are_shown_as_they_are(tmp_path: Path) -> None:
    records = [with_advantage(rollout(1, 0, sample), 0.25) for sample in range(2)]
    (group,) = answer(write_lines(tmp_path / "lines", records))["groups"]
    assert (group["advantages"], group["computed"]) == ([0.25, 0.25], False)


def test_a_reward_that_is_no_number_is_null(tmp_path: Path) -> None:
    records = [rollout(1, 0, 0, reward=reward) for reward in (float("nan"), float("inf"), 1.0)]
    (group,) = answer(write_lines(tmp_path / "lines", records))["groups"]
    assert group["rewards"] == [None, None, 1.0]


def test_groups_come_in_pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing_module, "PAGE", 2)
    path = write_lines(tmp_path / "lines", [rollout(step, data_source=f"s{step}") for step in (1, 2, 3)])
    first, second = answer(path), answer(path, 2)
    assert [group["step"] for group in first["groups"] + second["groups"]] == [1, 2, 3]
    assert (first["total"], first["rollouts"], first["sources"]) == (3, 3, ["s1", "s2", "s3"])
    assert answer(path, 99)["groups"] == []
    assert answer(path, -5)["start"] == 0
