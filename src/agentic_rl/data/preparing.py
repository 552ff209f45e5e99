"""Making training and validation files of what there is: `agentic-rl data prepare`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from agentic_rl.config.artifacts.data_pages import NO_ROWS
from agentic_rl.config.diagnostics import Finding, Report
from agentic_rl.config.rules import Page
from agentic_rl.data.answers import AnswerError
from agentic_rl.data.columns import ANSWERS, QUESTIONS, find_column, missing_column, value_at
from agentic_rl.data.kinds import INSTRUCTIONS, TRUTHS, QuestionError, Record, messages_of, record
from agentic_rl.data.pages import BAD_ROW, NO_COLUMN, REPEATED, SHARED, UNREADABLE_ROW
from agentic_rl.data.reading import DataFileError, Row, read_rows
from agentic_rl.data.splitting import choose, prompt_key
from agentic_rl.data.writing import refuse_existing, write_files


@dataclass(frozen=True)
class Wishes:
    """How the rows shall be made."""

    question: str | None = None
    """The column of the questions; None: the first of the usual names."""
    answer: str | None = None
    instruction: str | None = None
    """What a question becomes: a text with `{question}` in it, or one that follows it. None: that of the kind."""
    system: str | None = None
    source: str | None = None
    """`data_source` of every row; None: the row's own, or the kind."""
    tools: tuple[str, ...] = ()
    """`extra_info.tool_selection` of every row."""
    fraction: float = 0.1
    """Share of the prompts that validate, where no files are named for that."""
    seed: int = 0
    skip_bad: bool = False


@dataclass
class Prepared:
    """What came of it."""

    report: Report = field(default_factory=Report)
    written: dict[str, int] = field(default_factory=dict)
    """Path -> rows. Empty: nothing was written."""


@dataclass(frozen=True)
class _Task:
    row: Row
    record: Record
    key: str


def prepare(kind: str, files: Sequence[Path], out: Path, wishes: Wishes, val_files: Sequence[Path] = ()) -> Prepared:
    """Write `train.parquet` and `val.parquet` into `out`, from the rows of `files` (and of `val_files`).

    Nothing is written if there is an error; with `skip_bad`, rows that can't be used are no errors.

    Raises:
        FileExistsError: one of the two files is there already.
        OSError: `out` can't be written.
    """
    done = Prepared()
    refuse_existing(out)
    tasks = _read(kind, files, wishes, done.report)
    validating = _read(kind, val_files, wishes, done.report)
    if not val_files:
        chosen = choose([task.key for task in tasks], wishes.fraction, wishes.seed)
        validating = [task for number, task in enumerate(tasks) if number in chosen]
        tasks = [task for number, task in enumerate(tasks) if number not in chosen]
    done.report.extend([*_repeated(tasks), *_repeated(validating), *_shared(tasks, validating)])
    if not tasks and done.report.verdict != "error":
        named = str(files[0]) if files else ""
        said = "no row is left to train on"
        done.report.extend([Finding(NO_ROWS.code, "error", "", said, "name files with rows", named)])
    if done.report.verdict != "error":
        parts = {"train": tasks, "val": validating}
        done.written = write_files(
            out, {name: [_numbered(one, name, n) for n, one in enumerate(part)] for name, part in parts.items() if part}
        )
    return done


def _numbered(task: _Task, split: str, number: int) -> Record:
    return {**task.record, "extra_info": {"split": split, "index": number, **task.record["extra_info"]}}


def _read(kind: str, files: Sequence[Path], wishes: Wishes, report: Report) -> list[_Task]:
    tasks: list[_Task] = []
    for path in files:
        for found in _tasks_or_why(kind, path, wishes):
            if isinstance(found, _Task):
                tasks.append(found)
            else:
                spared = wishes.skip_bad and found.code in (UNREADABLE_ROW.code, BAD_ROW.code)
                report.extend([replace(found, severity="warning") if spared else found])
    return tasks


def _tasks_or_why(kind: str, path: Path, wishes: Wishes) -> Iterator[_Task | Finding]:
    try:
        yield from _tasks(kind, path, wishes)
    except DataFileError as error:
        yield error.finding


def _tasks(kind: str, path: Path, wishes: Wishes) -> Iterator[_Task | Finding]:
    """The tasks of a file. One whose first row has no column of questions is told once, not for each row."""
    columns_known = False
    for row in read_rows(path):
        if isinstance(row, Finding):
            yield row
            continue
        if not columns_known:
            missing = _missing(kind, row, wishes)
            if missing:
                yield missing
                return
            columns_known = True
        yield _task(kind, row, wishes)


def _missing(kind: str, row: Row, wishes: Wishes) -> Finding | None:
    for wanted, usual, option in (
        (wishes.question, QUESTIONS, "--question"),
        (wishes.answer, ANSWERS[kind], "--answer"),
    ):
        there = any(name.partition(".")[0] in row.values for name in usual) if wanted is None else False
        if not there and find_column(row.values, wanted, usual) is None:
            said, hint = missing_column(row.values, wanted, usual, option)
            name = Path(row.file).name
            return Finding(NO_COLUMN.code, NO_COLUMN.severity, "", f"{name} {said}", hint, row.file, row.line)
    return None


def _task(kind: str, row: Row, wishes: Wishes) -> _Task | Finding:
    question = find_column(row.values, wishes.question, QUESTIONS)
    answer = find_column(row.values, wishes.answer, ANSWERS[kind])
    try:
        messages = messages_of(value_at(row.values, question or ""), _template(kind, wishes), wishes.system)
    except QuestionError as error:
        return _bad(row, BAD_ROW, question or "question", f"the question {error}")
    try:
        truth = TRUTHS[kind](value_at(row.values, answer or ""))
    except AnswerError as error:
        return _bad(row, BAD_ROW, answer or "answer", f"the answer {error}")
    own = row.values.get("data_source")
    source = wishes.source or (own if isinstance(own, str) else "")
    extra: dict[str, Any] = {"tool_selection": list(wishes.tools)} if wishes.tools else {}
    made = record(kind, messages, truth, source=source, ability=kind, extra=extra)
    return _Task(row, made, prompt_key(messages))


def _template(kind: str, wishes: Wishes) -> str:
    if wishes.instruction is None:
        return INSTRUCTIONS[kind]
    if "{question}" in wishes.instruction or not wishes.instruction:
        return wishes.instruction or "{question}"
    return f"{{question}}\n\n{wishes.instruction}"


def _bad(row: Row, page: Page, column: str, message: str, hint: str = "repair it, or leave it out") -> Finding:
    return Finding(page.code, page.severity, f"{row.key}.{column}", message, hint, row.file, row.line)


def _repeated(tasks: Sequence[_Task]) -> Iterator[Finding]:
    first: dict[str, _Task] = {}
    for task in tasks:
        earlier = first.setdefault(task.key, task)
        if earlier is task:
            continue
        differ = task.record["reward_model"] != earlier.record["reward_model"]
        said = "with another answer" if differ else "with the same answer"
        yield _bad(task.row, REPEATED, "prompt", f"the prompt of {_named(earlier.row, task.row)} again, {said}", "")


def _shared(tasks: Sequence[_Task], validating: Sequence[_Task]) -> Iterator[Finding]:
    trained = {task.key: task for task in reversed(tasks)}
    for task in validating:
        other = trained.get(task.key)
        if other:
            said = f"this prompt is trained on, too: {_named(other.row, task.row)}"
            yield _bad(task.row, SHARED, "prompt", said, "remove it from one of the files")


def _named(row: Row, here: Row) -> str:
    return f"row {row.number}" if row.file == here.file else f"row {row.number} of {row.file}"
