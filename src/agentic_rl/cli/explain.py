"""`agentic-rl explain CODE`: the page of a finding's code."""

from __future__ import annotations

from textwrap import indent
from typing import Annotated

import typer


def explain(
    code: Annotated[str, typer.Argument(help="A finding's code, e.g. ARL204; all codes if left out.")] = "",
) -> None:
    """Print the rule behind a code, or the list of all codes."""
    from agentic_rl.cli.pages import all_pages
    from agentic_rl.cli.rule_pages import examples_of

    pages = all_pages()
    wanted = code.strip().upper()
    if not wanted:
        for page in pages.values():
            typer.echo(f"{page.code}  {page.severity:<7}  {page.title}")
        return
    if wanted not in pages:
        raise typer.BadParameter(f"no rule has the code {code!r}; `agentic-rl explain` lists all {len(pages)}")
    page = pages[wanted]
    typer.echo(f"{page.code} ({page.severity}): {page.title}\n\n{page.text.strip()}")
    for heading, text in examples_of(page.code):
        typer.echo(f"\n{heading}:\n\n{indent(text, '    ')}")
