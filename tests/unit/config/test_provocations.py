"""Every code is drawn by a test: by the example on its page, or by something that provokes it for real."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentic_rl.cli.pages import all_pages
from agentic_rl.config.rule_examples import example_of
from provocations import PROVOKED, nothing


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """The folder that stands for the user's own."""
    return tmp_path.resolve()


@pytest.mark.parametrize("code", PROVOKED)
def test_what_provokes_a_code_draws_it(code: str, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert code in PROVOKED[code](home, monkeypatch)


def test_unprovoked_none_of_them_is_drawn(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert nothing(home, monkeypatch).isdisjoint(PROVOKED)


def test_every_code_is_drawn_by_its_example_or_by_what_provokes_it() -> None:
    drawn_by_example = {code for code in all_pages() if example_of(code)}  # test_rule_examples draws each of them
    assert drawn_by_example.isdisjoint(PROVOKED)
    assert drawn_by_example | PROVOKED.keys() == all_pages().keys()
