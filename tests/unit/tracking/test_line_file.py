from __future__ import annotations

import json
import math
import stat
from pathlib import Path

from agentic_rl.tracking.line_file import LineFile, finite


def test_lines_are_read_back_as_they_were_written(tmp_path: Path) -> None:
    file = LineFile(tmp_path / "lines")
    records = [{"text": "a lone surrogate \ud800 and a\nnewline"}, {"value": 1.5}]
    for record in records:
        file.write(record)
    file.close()
    lines = (tmp_path / "lines").read_text(encoding="ascii").splitlines()
    assert [json.loads(line) for line in lines] == records


def test_the_mode_is_640(tmp_path: Path) -> None:
    LineFile(tmp_path / "lines").close()
    assert stat.S_IMODE((tmp_path / "lines").stat().st_mode) == 0o640


def test_cutting_removes_what_was_written_after_a_position(tmp_path: Path) -> None:
    file = LineFile(tmp_path / "lines")
    file.write({"step": 1})
    position = file.position
    file.write({"step": 2})
    assert file.cut(position)
    file.write({"step": 3})
    file.close()
    assert (tmp_path / "lines").read_text() == '{"step": 1}\n{"step": 3}\n'


def test_a_file_that_is_opened_again_goes_on_at_its_end(tmp_path: Path) -> None:
    first = LineFile(tmp_path / "lines")
    first.write({"step": 1})
    first.close()
    second = LineFile(tmp_path / "lines")
    assert second.position == len('{"step": 1}\n')
    second.write({"step": 2})
    second.close()
    assert (tmp_path / "lines").read_text() == '{"step": 1}\n{"step": 2}\n'


def test_a_position_inside_a_line_is_refused(tmp_path: Path) -> None:
    file = LineFile(tmp_path / "lines")
    file.write({"step": 1})
    assert not file.cut(3)
    assert not file.cut(1000)
    file.close()
    assert (tmp_path / "lines").read_text() == '{"step": 1}\n'


def test_what_json_cannot_say_becomes_null() -> None:
    assert finite({"a": 1.0, "b": math.nan, "c": -math.inf}) == {"a": 1.0, "b": None, "c": None}
