"""`agentic-rl data`: making data files, and looking at every row of them."""

from __future__ import annotations

import json
import os
import sys
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from agentic_rl.config.diagnostics import Report

data = typer.Typer(
    name="data",
    help="Make data files in verl's layout, and look at every row of them.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


class Kind(str, Enum):
    """What the rows are for."""

    math = "math"
    search = "search"
    gym = "gym"


class Format(str, Enum):
    """How a result is printed."""

    text = "text"
    json = "json"


Files = Annotated[
    list[Path] | None,
    typer.Option("--from", metavar="FILE", help="Parquet, JSON or JSONL with questions and answers; may be repeated."),
]
Form = Annotated[Format, typer.Option("--format", help="text or json.")]


@data.command()
def prepare(
    kind: Annotated[Kind, typer.Argument(help="The agent that will do the tasks.", show_default=False)],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Where train.parquet and val.parquet go.")],
    *,
    files: Files = None,
    val_files: Annotated[
        list[Path] | None,
        typer.Option("--val-from", metavar="FILE", help="Rows that validate; without it, a part of --from."),
    ] = None,
    question: Annotated[str | None, typer.Option(help="The column of the questions.", show_default="found")] = None,
    answer: Annotated[
        str | None, typer.Option(help="The column of the answers; a.b is a field of one.", show_default="found")
    ] = None,
    instruction: Annotated[
        str | None,
        typer.Option(
            help="Text that follows each question, or has {question} in it; '' for none.", show_default="kind's"
        ),
    ] = None,
    system: Annotated[str | None, typer.Option(help="A system message before each prompt.")] = None,
    source: Annotated[
        str | None, typer.Option("--data-source", help="data_source of every row.", show_default="the row's, or KIND")
    ] = None,
    tools: Annotated[
        str, typer.Option(metavar="NAMES", help="math: the tools of these tasks: calculator,python.")
    ] = "",
    val_fraction: Annotated[float, typer.Option(min=0, max=0.9, help="Share of the prompts that validate.")] = 0.1,
    seed: Annotated[int, typer.Option(min=0, help="Chooses which rows validate; of gym, the games.")] = 0,
    skip_bad: Annotated[bool, typer.Option("--skip-bad", help="Leave rows out that can't be used.")] = False,
    environment: Annotated[str, typer.Option(metavar="NAMES", help="gym: grid,guess or one of them.")] = "grid,guess",
    rows: Annotated[int, typer.Option(min=1, help="gym: games to train on.")] = 1000,
    val_rows: Annotated[int, typer.Option(min=0, help="gym: games to validate on.")] = 100,
    size: Annotated[int | None, typer.Option(help="gym: the size of each game.", show_default="its usual one")] = None,
    form: Form = Format.text,
) -> None:
    """Write train.parquet and val.parquet. Exit status 1, and nothing is written, if a row can't be used."""
    from agentic_rl.config.diagnostics import Report
    from agentic_rl.data import Wishes
    from agentic_rl.data import prepare as prepare_files
    from agentic_rl.data.games import prepare_games

    report = Report()
    try:
        if kind is Kind.gym:
            _refuse_files(files, val_files)
            names = [name.strip() for name in environment.split(",") if name.strip()]
            if not names:
                raise typer.BadParameter("names none; grid, guess or both", param_hint="--environment")
            written = prepare_games(names, out, rows=rows, val_rows=val_rows, seed=seed, size=size)
        else:
            if not files:
                raise typer.BadParameter(f"{kind.value} tasks are made of files; name them with --from")
            wishes = Wishes(
                question=question,
                answer=answer,
                instruction=instruction,
                system=system,
                source=source,
                tools=_tools(tools),
                fraction=val_fraction,
                seed=seed,
                skip_bad=skip_bad,
            )
            prepared = prepare_files(kind.value, files, out, wishes, val_files or ())
            report, written = prepared.report, prepared.written
    except OSError as error:
        typer.echo(f"error {error.filename or out}: {error.strerror or error}", err=True)
        raise typer.Exit(1) from None
    except ValueError as error:
        typer.echo(f"error {error}", err=True)
        raise typer.Exit(1) from None
    _print_written(report, written, form)
    raise typer.Exit(1 if report.verdict == "error" else 0)


@data.command()
def check(
    files: Annotated[
        list[Path],
        typer.Argument(metavar="FILE...", help="Parquet, JSON or JSONL in verl's layout.", show_default=False),
    ],
    *,
    tokenizer: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="The model's folder: prompts are counted in its tokens, with its template."),
    ] = None,
    max_prompt_length: Annotated[
        int | None, typer.Option(min=1, help="Tokens; longer prompts are errors. Needs --tokenizer.")
    ] = None,
    form: Form = Format.text,
) -> None:
    """Look at every row: schema, roles, empty and repeated prompts, ground truths, lengths; prompts shared by files.

    Exit status 1 if there is an error.
    """
    from agentic_rl.config.reporting.colour import wanted
    from agentic_rl.data import check_files
    from agentic_rl.data.lengths import TokenizerError, tokens_of

    if max_prompt_length and tokenizer is None:
        raise typer.BadParameter("--max-prompt-length counts tokens; give --tokenizer, too")
    try:
        count = None if tokenizer is None else tokens_of(tokenizer)
    except TokenizerError as error:
        typer.echo(f"error {error}", err=True)
        raise typer.Exit(1) from None
    checked = check_files(files, count, max_prompt_length)
    if form is Format.json:
        typer.echo(json.dumps(checked.to_dict(), indent=2))
    else:
        colour = wanted(sys.stdout, os.environ)
        typer.echo(checked.to_text(colour=colour), color=colour)
    raise typer.Exit(1 if checked.report.verdict == "error" else 0)


def _tools(text: str) -> tuple[str, ...]:
    from agentic_rl.agents.builtin.math import MAKERS

    names = tuple(name.strip() for name in text.split(",") if name.strip())
    unknown = [name for name in names if name not in MAKERS]
    if unknown:
        raise typer.BadParameter(
            f"there is no tool {unknown[0]!r}; there are: {', '.join(MAKERS)}", param_hint="--tools"
        )
    return names


def _refuse_files(*given: list[Path] | None) -> None:
    if any(given):
        raise typer.BadParameter("gym tasks are drawn, not read; leave --from and --val-from out")


def _print_written(report: Report, written: dict[str, int], form: Format) -> None:
    from agentic_rl.config.reporting.colour import wanted
    from agentic_rl.data.pages import BAD_ROW, UNREADABLE_ROW

    if form is Format.json:
        typer.echo(json.dumps({**report.to_dict(), "written": written}, indent=2))
        return
    colour = wanted(sys.stdout, os.environ)
    if len(report):
        typer.echo(report.to_text(colour=colour), color=colour)
    for path, rows in written.items():
        typer.echo(f"{path}: {rows:,} rows")
    if not written:
        rows_alone = all(one.code in (BAD_ROW.code, UNREADABLE_ROW.code) for one in report if one.severity == "error")
        typer.echo("nothing was written" + ("; --skip-bad leaves out rows that can't be used" if rows_alone else ""))
