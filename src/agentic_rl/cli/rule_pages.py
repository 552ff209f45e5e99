"""A page of documentation for each rule, with its examples, and an index of them.

`python -m agentic_rl.cli.rule_pages docs/rules` writes the folder; a test compares the two.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from agentic_rl.cli.pages import all_pages
from agentic_rl.config.rule_examples import described, example_of
from agentic_rl.config.rules import Page

_MADE = "<!-- Made from the rules by `python -m agentic_rl.cli.rule_pages docs/rules`; do not edit. -->"
_FAMILIES = {
    "0": "Reading",
    "1": "Single values",
    "2": "Relations between keys",
    "3": "Paths and files",
    "4": "The content of files",
    "5": "Backends",
    "6": "Cluster files and what they start",
    "7": "Services",
}


def render_all() -> dict[str, str]:
    """File name -> text of every page, `index.md` first."""
    pages = all_pages()
    return {"index.md": _index(pages), **{f"{code}.md": _page(page) for code, page in pages.items()}}


def examples_of(code: str) -> Iterator[tuple[str, str]]:
    """Heading and text of the code's examples; nothing where it has none."""
    example = example_of(code)
    if example:
        yield from described(example).items()


def write(folder: Path) -> None:
    """Write every page, and remove those of codes that are no more."""
    folder.mkdir(parents=True, exist_ok=True)
    texts = render_all()
    for old in folder.glob("*.md"):
        if old.name not in texts:
            old.unlink()
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")


def _index(pages: dict[str, Page]) -> str:
    lines = ["# Rules", "", _MADE, "", "Every rule of `agentic-rl check` and the trainers, by its code."]
    for digit, name in _FAMILIES.items():
        of_family = [page for code, page in pages.items() if code[3] == digit]
        lines += ["", f"## {name}", "", "| code | severity | rule |", "|---|---|---|"]
        lines += [f"| [{page.code}]({page.code}.md) | {page.severity} | {page.title} |" for page in of_family]
    return "\n".join([*lines, ""])


def _page(page: Page) -> str:
    parts = [f"# {page.code}: {page.title}", _MADE, f"*{page.severity}*", page.text.strip()]
    example = example_of(page.code)
    language = "shell" if example and example.command else "yaml"
    parts += [f"## {heading}\n\n```{language}\n{text}\n```" for heading, text in examples_of(page.code)]
    return "\n\n".join([*parts, "[All rules](index.md)"]) + "\n"


if __name__ == "__main__":
    write(Path(sys.argv[1]))
