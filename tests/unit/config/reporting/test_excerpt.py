from __future__ import annotations

import pytest

from agentic_rl.config.diagnostics import Finding
from agentic_rl.config.reporting.excerpt import WIDEST


def shown(line: str, column: int, key: str = "verl.lr", number: int = 7) -> list[str]:
    """What stands between the finding and its remedy."""
    lines = [""] * (number - 1) + [line]
    text = Finding("ARL101", "error", key, "-1", "lr: 1", "c.yaml", number, column).to_text(lines)
    first, *middle, last = text.splitlines()
    assert first == f"c.yaml:{number}:{column} error ARL101 {key}: -1"
    assert last == "    fix: lr: 1"
    return middle


def test_carets_stand_below_the_key() -> None:
    assert shown("  lr: -1", 3) == ["    7 |   lr: -1", "      |   ^^"]


def test_a_wide_number_moves_the_bar() -> None:
    assert shown("lr: -1", 1, number=120) == ["    120 | lr: -1", "        | ^^"]


def test_one_caret_where_the_key_is_spelled_otherwise() -> None:
    assert shown('  "lr": -1', 3) == ['    7 |   "lr": -1', "      |   ^"]


@pytest.mark.parametrize("before", ["学习: 1, ", "e\u0301: 1, "])
def test_carets_know_how_wide_characters_are(before: str) -> None:
    _, carets = shown(f"{{{before}lr: -1}}", len(before) + 2)
    assert carets.removeprefix("      | ") == " " * {"学": 10, "e": 7}[before[0]] + "^^"


def test_long_lines_are_cut_around_the_column() -> None:
    source, carets = shown("{" + "a: 1, " * 100 + "lr: -1" + ", b: 2" * 100 + "}", 602)
    text = source.removeprefix("    7 | ")
    assert len(text) == WIDEST + 2
    assert text[0] == text[-1] == "…"
    assert text[carets.removeprefix("      | ").index("^") :].startswith("lr: -1")


def test_the_end_of_a_long_line_is_not_cut_off() -> None:
    source, _ = shown("{" + "a: 1, " * 100 + "lr: -1}", 602)
    assert source.endswith("lr: -1}")


def test_what_could_drive_a_terminal_is_replaced() -> None:
    source, carets = shown("{\x1b[31m\u202e: 1, lr: -1}", 13)
    assert source.isprintable()
    assert source.index("lr") == carets.index("^^")


@pytest.mark.parametrize(("line", "column", "key"), [("   ", 1, "lr"), ("train_backend: verl", 1, "agent_name")])
def test_lines_that_say_nothing_about_the_key_are_left_out(line: str, column: int, key: str) -> None:
    assert shown(line, column, key, number=1) == []


def test_a_place_beyond_the_lines_is_left_out() -> None:
    finding = Finding("ARL101", "error", "lr", "-1", "", "c.yaml", 9, 1)
    assert finding.to_text(["lr: -1"]) == finding.to_text()
