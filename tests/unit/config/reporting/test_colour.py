from __future__ import annotations

import io
import re

import pytest

from agentic_rl.config.diagnostics import Finding, Report
from agentic_rl.config.reporting.colour import wanted


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("stream", "environ", "expected"),
    [
        (Terminal(), {}, True),
        (io.StringIO(), {}, False),
        (Terminal(), {"NO_COLOR": "1"}, False),
        (Terminal(), {"NO_COLOR": ""}, True),
        (io.StringIO(), {"FORCE_COLOR": "1"}, True),
        (Terminal(), {"NO_COLOR": "1", "FORCE_COLOR": "1"}, False),
        (Terminal(), {"TERM": "dumb"}, False),
    ],
)
def test_when_colour_is_wanted(stream: io.StringIO, environ: dict[str, str], expected: bool) -> None:
    assert wanted(stream, environ) is expected


def test_colour_changes_nothing_but_the_colour() -> None:
    finding = Finding("ARL101", "error", "lr", "-1", "lr: 1", "c.yaml", 1, 1)
    report = Report([finding], {"c.yaml": ["lr: -1"]})
    coloured = report.to_text(colour=True)
    assert "\x1b[1;31merror ARL101\x1b[0m" in coloured
    assert re.sub(r"\x1b\[[\d;]*m", "", coloured) == report.to_text()
