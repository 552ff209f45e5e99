from __future__ import annotations

import re
from pathlib import Path

from typer.testing import CliRunner

import agentic_rl
from agentic_rl.cli.app import app
from agentic_rl.cli.pages import all_pages, render

runner = CliRunner()


def test_page_has_title_severity_and_text() -> None:
    shown = runner.invoke(app, ["explain", "arl204"])
    assert shown.exit_code == 0
    assert shown.output.startswith("ARL204 (error): ")
    assert all_pages()["ARL204"].text.strip() in shown.output


def test_list_has_every_code() -> None:
    shown = runner.invoke(app, ["explain"])
    assert [line.split()[0] for line in shown.output.splitlines()] == sorted(all_pages())


def test_unknown_code_is_wrong_usage() -> None:
    assert runner.invoke(app, ["explain", "ARL999"]).exit_code == 2


def test_every_code_in_the_source_has_a_page() -> None:
    source = Path(agentic_rl.__file__).parent
    used = {code for file in source.rglob("*.py") for code in re.findall(r'"(ARL\d{3})"', file.read_text())}
    assert used == set(all_pages())


def test_every_page_says_something() -> None:
    assert [page.code for page in all_pages().values() if len(page.text.split()) < 8] == []


def test_committed_page_is_current() -> None:
    committed = Path(__file__).parents[3] / "docs" / "reference" / "findings.md"
    again = "python -m agentic_rl.cli.pages > docs/reference/findings.md"
    assert committed.read_text() == render(), f"write it again: {again}"
