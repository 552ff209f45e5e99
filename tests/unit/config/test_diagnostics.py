"""Findings and reports: text, JSON, GitHub annotations, order, summary, ConfigError."""

from __future__ import annotations

import json
import pickle

import pytest

from agentic_rl.config.diagnostics import COMMAND_LINE, ENVIRONMENT, ConfigError, Finding, Report

EXAMPLE = Finding(
    "ARL204",
    "error",
    "verl.ppo_mini_batch_size",
    "64 prompts, but train_batch_size is 32 prompts; a mini batch can't be larger than the batch",
    "ppo_mini_batch_size: 32 (or 16, 8)",
    "config.yaml",
    14,
    3,
)


def test_text_is_the_documented_form() -> None:
    assert EXAMPLE.to_text() == (
        "config.yaml:14:3 error ARL204 verl.ppo_mini_batch_size: 64 prompts, but train_batch_size is 32 prompts; "
        "a mini batch can't be larger than the batch\n"
        "    fix: ppo_mini_batch_size: 32 (or 16, 8)"
    )


def test_a_remedy_of_two_commands_has_two_lines() -> None:
    finding = Finding("ARL305", "error", "a", "755", "chmod 750 x\nchmod 640 y", "c.yaml", 1, 1)
    assert finding.to_text().splitlines()[1:] == ["    fix: chmod 750 x", "         chmod 640 y"]


@pytest.mark.parametrize(
    ("finding", "head"),
    [
        (Finding("ARL001", "error", "", "no file", file="a.yaml"), "a.yaml error ARL001 no file"),
        (Finding("ARL101", "error", "lr", "-1", file=COMMAND_LINE), "command line error ARL101 lr: -1"),
        (Finding("ARL101", "error", "lr", "-1"), "error ARL101 lr: -1"),
    ],
)
def test_text_says_as_much_of_the_place_as_is_known(finding: Finding, head: str) -> None:
    assert finding.to_text() == head


def test_values_cannot_break_lines_or_drive_a_terminal() -> None:
    hostile = "a\nb\x1b[31m\ud800\u2028\u202e\ufeff\u200b"
    shown = Finding("ARL101", "error", hostile, hostile, file=hostile).to_text()
    assert shown.isprintable()
    assert "a\\nb\\x1b[31m\\ud800\\u2028\\u202e\\ufeff\\u200b" in shown


def test_text_of_other_languages_is_left_as_it_is() -> None:
    assert Finding("ARL101", "error", "lr", "学习率 é").to_text().endswith("学习率 é")


def test_a_report_is_sorted_by_place_with_the_overrides_last() -> None:
    late, early = Finding("B", "error", "", "", file="f", line=9, column=1), Finding("A", "note", "", "", file="f")
    column = Finding("C", "error", "", "", file="f", line=9, column=3)
    cli, environment = Finding("D", "error", "", "", file=COMMAND_LINE), Finding("E", "error", "", "", file=ENVIRONMENT)
    report = Report([environment, cli, column, late, early])
    assert [finding.code for finding in report] == ["A", "B", "C", "D", "E"]
    assert [finding["code"] for finding in report.to_dict()["findings"]] == ["A", "B", "C", "D", "E"]


@pytest.mark.parametrize(
    ("severities", "summary", "verdict"),
    [
        ([], "no findings", "ok"),
        (["note"], "1 note", "ok"),
        (["warning", "note"], "1 warning, 1 note", "warning"),
        (["error", "error", "warning", "note"], "2 errors, 1 warning, 1 note", "error"),
    ],
)
def test_summary_and_verdict(severities: list[str], summary: str, verdict: str) -> None:
    report = Report([Finding("ARL101", severity, "", "") for severity in severities])  # type: ignore[arg-type]
    assert report.summary() == summary
    assert report.to_text().splitlines()[-1] == summary
    assert report.verdict == verdict


def test_json_has_every_field_of_a_finding() -> None:
    report = json.loads(json.dumps(Report([EXAMPLE]).to_dict()))
    assert report["verdict"] == "error"
    assert report["findings"] == [
        {
            "code": "ARL204",
            "severity": "error",
            "key": "verl.ppo_mini_batch_size",
            "message": EXAMPLE.message,
            "hint": EXAMPLE.hint,
            "file": "config.yaml",
            "line": 14,
            "column": 3,
        }
    ]


def test_a_github_annotation_stands_at_the_place_and_carries_the_remedy() -> None:
    assert EXAMPLE.annotation() == (
        "::error file=config.yaml,line=14,col=3,title=ARL204::verl.ppo_mini_batch_size: 64 prompts, but "
        "train_batch_size is 32 prompts; a mini batch can't be larger than the batch"
        "%0Afix: ppo_mini_batch_size: 32 (or 16, 8)"
    )


def test_github_annotations_are_escaped() -> None:
    finding = Finding("ARL101", "note", "a", "100% of\r x\ny::z", "one\ntwo", "a,b:c%.yaml", 1, 2)
    assert finding.annotation() == (
        "::notice file=a%2Cb%3Ac%25.yaml,line=1,col=2,title=ARL101::a: 100%25 of\\r x%0Ay::z%0Afix: one%0Atwo"
    )


def test_github_names_no_file_that_is_none() -> None:
    report = Report([Finding("ARL101", "warning", "lr", "-1", file=COMMAND_LINE), Finding("ARL001", "error", "", "x")])
    assert report.to_github().splitlines() == [
        "::error title=ARL001::x",
        "::warning title=ARL101::command line: lr: -1",
    ]


def test_a_config_error_prints_its_report_and_survives_pickling() -> None:
    error = pickle.loads(pickle.dumps(ConfigError(Report([EXAMPLE]))))
    assert isinstance(error, ValueError)
    assert error.report.findings == [EXAMPLE]
    assert str(error) == f"{EXAMPLE.to_text()}\n1 error"
