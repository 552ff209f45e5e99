from __future__ import annotations

import pytest

from agentic_rl.config.diagnostics import Finding, Report, Severity
from agentic_rl.config.selection import Choice, Selection, codes

REPORT = Report(
    [
        Finding("ARL101", "error", "lr", ""),
        Finding("ARL211", "warning", "gamma", ""),
        Finding("ARL213", "warning", "rollout_n", ""),
        Finding("ARL015", "note", "", ""),
    ],
    {"c.yaml": ["lr: -1"]},
)


def left(selection: Selection) -> dict[str, Severity]:
    return {finding.code: finding.severity for finding in selection.apply(REPORT).findings}


def test_nothing_chosen_changes_nothing() -> None:
    assert Selection().apply(REPORT) == REPORT
    assert Selection().apply(REPORT).sources == REPORT.sources


def test_what_is_typed_may_leave_anything_out() -> None:
    assert list(left(Selection(Choice(select=("ARL21",))))) == ["ARL211", "ARL213"]
    assert list(left(Selection(Choice(ignore=("ARL1", "ARL211"))))) == ["ARL213", "ARL015"]
    assert list(left(Selection(Choice(select=("ARL2",), ignore=("ARL213",))))) == ["ARL211"]


@pytest.mark.parametrize(
    "kept", [Choice(ignore=("ARL1",)), Choice(severity={"ARL101": "note"}), Choice(select=("ARL0", "ARL2"))]
)
def test_what_is_kept_in_a_file_leaves_of_an_error_a_warning(kept: Choice) -> None:
    assert left(Selection(kept=kept)) == {
        "ARL101": "warning",
        "ARL211": "warning",
        "ARL213": "warning",
        "ARL015": "note",
    }


def test_what_is_kept_leaves_warnings_out() -> None:
    assert list(left(Selection(kept=Choice(ignore=("ARL21",))))) == ["ARL101", "ARL015"]


def test_the_longest_beginning_decides_the_severity() -> None:
    kept = Choice(severity={"ARL2": "note", "ARL213": "error"})
    assert left(Selection(kept=kept)) == {"ARL101": "error", "ARL211": "note", "ARL213": "error", "ARL015": "note"}


def test_codes_are_read_from_lists_and_commas() -> None:
    assert codes(["arl1, ARL213", "ARL2"], ["ARL101", "ARL213"]) == ("ARL1", "ARL213", "ARL2")


@pytest.mark.parametrize("wrong", ["E501", "ARL9", "ARL2134", "ARL"[:2]])
def test_what_no_rule_has_is_refused(wrong: str) -> None:
    with pytest.raises(ValueError, match=wrong):
        codes([wrong], ["ARL101", "ARL213"])
