from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from agentic_rl.tracking.curve import draw, read_curves, smooth

LINES = [
    {"phase": "warm-up", "step": 7, "sft/loss": 3.0},
    {"phase": "evaluation", "step": 0, "eval/reward": 0.1, "eval/reward/add": 0.2, "eval/reward/sub": 0.0},
    {"phase": "training", "step": 1, "reward/mean": 0.3},
    {"phase": "training", "step": 2, "reward/mean": None},
    {"phase": "training", "step": 3, "reward/mean": 0.5},
]


def test_curves_are_read_from_the_lines_and_a_torn_line_is_left_out() -> None:
    text = [json.dumps(line) for line in LINES]
    curves = read_curves([*text, '{"step": 4, "reward/me', "7"])
    assert curves.training == [(1, 0.3), (3, 0.5)]
    assert curves.held_out == [(0, 0.1)]
    assert curves.by_source == {"add": [(0, 0.2)], "sub": [(0, 0.0)]}


def test_smoothing_starts_at_the_first_value_and_keeps_a_constant() -> None:
    assert smooth([(1, 0.4), (2, 0.4), (5, 0.4)]) == [
        (1, pytest.approx(0.4)),
        (2, pytest.approx(0.4)),
        (5, pytest.approx(0.4)),
    ]
    rising = smooth([(1, 0.0), (2, 1.0)])
    assert rising[0] == (1, 0.0)
    assert 0 < rising[1][1] < 1


def test_the_picture_is_a_png_of_mode_640(tmp_path: Path) -> None:
    metrics = tmp_path / "metrics.jsonl"
    metrics.write_text("".join(json.dumps(line) + "\n" for line in LINES))
    assert draw(metrics, tmp_path / "curve.png", "project / run")
    assert (tmp_path / "curve.png").read_bytes().startswith(b"\x89PNG")
    assert stat.S_IMODE((tmp_path / "curve.png").stat().st_mode) == 0o640


def test_without_a_reward_there_is_no_picture(tmp_path: Path) -> None:
    metrics = tmp_path / "metrics.jsonl"
    metrics.write_text(json.dumps(LINES[0]) + "\n")
    assert not draw(metrics, tmp_path / "curve.png", "project / run")
    assert not (tmp_path / "curve.png").exists()
