from __future__ import annotations

from pathlib import Path

from agentic_rl.backends.verl.instances.reference import render

PAGE = Path(__file__).parents[5] / "docs" / "reference" / "instances-on-verl.md"


def test_the_page_is_up_to_date() -> None:
    command = f"python -m agentic_rl.backends.verl.instances.reference > {PAGE}"
    assert PAGE.read_text(encoding="utf-8") == render() + "\n", command
