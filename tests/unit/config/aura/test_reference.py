"""The reference page of the instances format is made from the schema and names every documented key."""

from __future__ import annotations

from pathlib import Path

from agentic_rl.config.aura.reference import render

REPOSITORY = Path(__file__).parents[4]
PAGE = REPOSITORY / "docs" / "reference" / "instances.md"
TABLE = REPOSITORY / "tests" / "data" / "aura" / "aura-params.tsv"


def test_the_page_is_the_schema() -> None:
    assert PAGE.read_text(encoding="utf-8") == render()


def test_every_documented_key_is_named() -> None:
    text = render()
    lines = [line.split("\t") for line in TABLE.read_text(encoding="utf-8").splitlines()]
    keys = [line[1] for line in lines if line[0] == "yaml"]
    assert len(keys) > 80
    for key in keys:
        section, _, name = key.rpartition(".")
        _, _, table = text.partition(f"## `{section}`\n" if section else "## At the top\n")
        assert f"\n| `{name}` |" in table.partition("\n## ")[0], key
