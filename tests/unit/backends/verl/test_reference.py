from __future__ import annotations

from pathlib import Path

from agentic_rl.backends.verl.mapping import TABLE
from agentic_rl.backends.verl.reference import render

PAGE = Path(__file__).parents[4] / "docs" / "reference" / "verl-mapping.md"


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == render() + "\n", "python -m agentic_rl.backends.verl.reference > " + str(
        PAGE
    )


def test_every_key_is_on_it() -> None:
    page = render()
    assert [entry.key for entry in TABLE if f"| `{entry.key}` |" not in page] == []
