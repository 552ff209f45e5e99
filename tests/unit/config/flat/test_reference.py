"""The committed reference page, and what importing the format loads."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from agentic_rl.config.flat.names import LEVELS
from agentic_rl.config.flat.reference import render, rows

PAGE = Path(__file__).parents[4] / "docs" / "reference" / "flat.md"


def test_committed_page_is_current() -> None:
    again = "python -m agentic_rl.config.flat.reference > docs/reference/flat.md"
    assert PAGE.read_text(encoding="utf-8") == render() + "\n", f"the schema has changed; run `{again}`"


def test_page_has_every_key_once() -> None:
    listed = [(row.section, row.key) for row in rows()]
    assert sorted(listed) == sorted((section, name) for section, names in LEVELS.items() for name in names)


def test_importing_the_format_loads_nothing_heavy() -> None:
    code = "import sys, agentic_rl.config.flat; print(*(set(sys.modules) & {'torch', 'typer', 'rich', 'pyarrow'}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_page_names_the_versions_that_acts_on_holds_for() -> None:
    lines = [line.split(" | ") for line in PAGE.read_text(encoding="utf-8").splitlines()]
    assert ["| verl", "verl 0.9.1"] in [line[:2] for line in lines]
    assert ["| mindspeed_rl", "MindSpeed-RL master (05a90d7)"] in [line[:2] for line in lines]
