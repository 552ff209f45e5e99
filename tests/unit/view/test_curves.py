from __future__ import annotations

import json
from pathlib import Path

from agentic_rl.view.curves import MAX_POINTS, Curves
from view_doubles import write_lines


def step(number: int, **measured: float | None) -> dict[str, float | str | None]:
    return {"phase": "training", "step": number, **measured}


def test_curves_by_phase_and_name(tmp_path: Path) -> None:
    path = write_lines(
        tmp_path / "lines", [step(1, a=1.0, b=None), {"phase": "evaluation", "step": 1, "a": 5}, step(2, a=2)]
    )
    assert Curves(path).read()["curves"] == [
        {"phase": "training", "name": "a", "steps": [1.0, 2.0], "values": [1.0, 2.0]},
        {"phase": "evaluation", "name": "a", "steps": [1.0], "values": [5.0]},
    ]


def test_new_lines_are_added_once_they_are_whole(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "lines", [step(1, a=1)])
    curves = Curves(path)
    before = curves.read()
    assert curves.read() == before
    line = json.dumps(step(2, a=2))
    with path.open("a") as file:
        file.write(line[:9])
        file.flush()
        assert curves.read() == before
        file.write(line[9:] + "\n")
    after = curves.read()
    assert after["revision"] != before["revision"]
    assert after["curves"][0]["values"] == [1.0, 2.0]


def test_a_file_that_was_cut_back_is_read_anew(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "lines", [step(1, a=1), step(2, a=2)])
    curves = Curves(path)
    curves.read()
    path.write_text(json.dumps(step(1, a=7)) + "\n")
    assert curves.read()["curves"][0]["values"] == [7.0]
    path.unlink()
    assert curves.read()["curves"] == []


def test_a_step_that_is_measured_again_replaces_the_first(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "lines", [step(1, a=1), step(2, a=2), step(1, a=3)])
    assert Curves(path).read()["curves"][0]["values"] == [3.0, 2.0]


def test_what_is_no_measurement_is_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    path.write_bytes(b'garbage\n[1]\n{"step": "x"}\n{"step": 1, "a": NaN, "b": "text", "c": true, "d": 4}\n')
    assert [curve["name"] for curve in Curves(path).read()["curves"]] == ["d"]
    assert Curves(tmp_path / "none").read()["curves"] == []


def test_a_long_curve_is_thinned_and_keeps_its_end(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "lines", [step(number, a=number) for number in range(3 * MAX_POINTS)])
    (curve,) = Curves(path).read()["curves"]
    assert len(curve["steps"]) <= MAX_POINTS + 1
    assert (curve["steps"][0], curve["steps"][-1]) == (0, 3 * MAX_POINTS - 1)
