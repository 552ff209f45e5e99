"""The documents keep their promises: their code runs, their links lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), *sorted((ROOT / "examples").rglob("*.md"))]
NEEDS_A_TRAINED_RUN = {"quickstart.md", "trajectories.md"}
BLOCKS = [
    pytest.param(block, id=f"{document.relative_to(ROOT)}-{number}")
    for document in DOCUMENTS
    if document.name not in NEEDS_A_TRAINED_RUN
    for number, block in enumerate(re.findall(r"^```python\n(.*?)^```", document.read_text(), re.DOTALL | re.MULTILINE))
]


def test_there_is_code_to_run() -> None:
    assert len(BLOCKS) >= 4


@pytest.mark.parametrize("block", BLOCKS)
def test_code_runs(block: str) -> None:
    exec(compile(block, "document", "exec"), {"__name__": "document"})


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_to_files(document: Path) -> None:
    links = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", document.read_text())
    missing = [link for link in links if "://" not in link and not (document.parent / link).exists()]
    assert missing == []


def test_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) <= 120
