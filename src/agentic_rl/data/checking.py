"""Looking at every row of data files: `agentic-rl data check`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from agentic_rl.config.artifacts.data_pages import MISSING_COLUMN, NO_ROWS
from agentic_rl.config.diagnostics import Finding, Report
from agentic_rl.config.rules import Page
from agentic_rl.data.lengths import Count, Lengths, characters
from agentic_rl.data.pages import OVERLONG, REPEATED, SHARED
from agentic_rl.data.reading import DataFileError, Row, read_rows
from agentic_rl.data.row_checks import Answers, check_row, clean
from agentic_rl.data.schemas import check_schema
from agentic_rl.data.splitting import prompt_key

MOST_TOLD = 20
"""Findings of one code for one file; the last of more says how many there are."""


@dataclass
class Overview:
    """What a file holds."""

    file: str
    rows: int = 0
    column: str = ""
    """`prompt`, or `messages` of a file for the supervised warm-up."""
    sources: dict[str, int] = field(default_factory=dict)
    roles: dict[str, int] = field(default_factory=dict)
    """Role -> messages."""
    ground_truths: dict[str, int] = field(default_factory=dict)
    """Type -> rows."""
    repeated: int = 0
    """Rows whose prompt an earlier row has."""
    lengths: Lengths | None = None

    def to_text(self) -> str:
        """The overview in a few lines, for people."""
        lines = [f"{self.file}: {self.rows:,} rows"]
        for name, counts in (
            ("sources", self.sources),
            ("roles", self.roles),
            ("ground truths", self.ground_truths),
        ):
            if counts:
                shown = sorted(counts.items(), key=lambda one: -one[1])[:8]
                more = f", {len(counts) - 8} more" if len(counts) > 8 else ""
                lines.append(f"  {name}: " + ", ".join(f"{key or '(none)'} {count:,}" for key, count in shown) + more)
        if self.repeated:
            lines.append(f"  repeated prompts: {self.repeated:,}")
        if self.lengths:
            one = self.lengths
            lines.append(
                f"  {one.unit} of a {self.column if self.column == 'prompt' else 'conversation'}: "
                f"{one.shortest:,} to {one.longest:,}, median {one.median:,}, 95 % up to {one.most:,}"
            )
        return "\n".join(lines)


@dataclass
class Checked:
    """What was seen and found."""

    overviews: list[Overview] = field(default_factory=list)
    report: Report = field(default_factory=Report)

    def to_text(self, *, colour: bool = False) -> str:
        """The findings, then an overview of each file."""
        overviews = "\n".join(one.to_text() for one in self.overviews)
        return f"{self.report.to_text(colour=colour)}\n{overviews}".rstrip()

    def to_dict(self) -> dict[str, Any]:
        """The JSON form: `verdict`, `findings` and `files`."""
        return {**self.report.to_dict(), "files": [asdict(one) for one in self.overviews]}


def check_files(files: Sequence[Path], count: Count | None = None, limit: int | None = None) -> Checked:
    """Look at every row of files in verl's layout, and for prompts that stand in more than one of them.

    Args:
        files: parquet, JSON or JSONL.
        count: counts the tokens of a prompt; None: characters are counted.
        limit: what `count` may give at most.
    """
    checked = Checked()
    seen: dict[str, Row] = {}
    for path in files:
        one = _File(path, count, limit)
        found = _limited(one.findings(seen))
        checked.report.extend(found)
        checked.overviews.append(one.overview)
        for key, row in one.first.items():
            seen.setdefault(key, row)
    return checked


class _File:
    """One file while it is looked at."""

    def __init__(self, path: Path, count: Count | None, limit: int | None) -> None:
        self.overview = Overview(str(path))
        self.first: dict[str, Row] = {}
        self._path = path
        self._count = count
        self._limit = limit
        self._counts: list[int] = []
        self._answers = Answers()

    def findings(self, others: Mapping[str, Row]) -> Iterator[Finding]:
        """Go through the file."""
        try:
            wrong = check_schema(self._path)
            yield from wrong
            if not any(found.severity == "error" for found in wrong):
                yield from self._rows(others)
        except DataFileError as error:
            yield error.finding
        self.overview.lengths = Lengths.of("tokens" if self._count else "characters", self._counts)
        self.overview.ground_truths = dict(self._answers.types)

    def _rows(self, others: Mapping[str, Row]) -> Iterator[Finding]:
        roles: Counter[str] = Counter()
        sources: Counter[str] = Counter()
        for row in read_rows(self._path):
            self.overview.rows += 1
            if isinstance(row, Finding):
                yield row
                continue
            if not self.overview.column:
                self.overview.column = "prompt" if "prompt" in row.values else "messages"
                if self.overview.column not in row.values:
                    yield self._no_column(row)
                    return
            messages, found = check_row(row, self.overview.column, self._answers)
            yield from found
            roles.update(str(message.get("role")) for message in messages)
            if self.overview.column == "prompt":
                sources[str(row.values.get("data_source") or "")] += 1
            if messages and not any(one.severity == "error" for one in found):
                yield from self._of_prompt(row, messages, others)
        self.overview.roles, self.overview.sources = dict(roles), dict(sources)
        yield from self._of_file()

    def _of_prompt(self, row: Row, messages: list[dict[str, Any]], others: Mapping[str, Row]) -> Iterator[Finding]:
        column = self.overview.column
        if column == "prompt":
            key = prompt_key(messages, row.values.get("extra_info"))
            earlier = self.first.setdefault(key, row)
            if earlier is not row:
                self.overview.repeated += 1
                yield told(REPEATED, row, column, f"the prompt of row {earlier.number} again", "remove one of them")
            elif key in others:
                other = others[key]
                said = f"this prompt is row {other.number} of {other.file}, too"
                yield told(SHARED, row, column, said, "remove it from one of the files")
        length = self._length(messages)
        if length is None:
            yield told(OVERLONG, row, column, "the chat template refuses this conversation", "see ARL475")
        elif self._count and self._limit and column == "prompt" and length > self._limit:
            said = f"{length:,} tokens, max_prompt_length is {self._limit:,}"
            yield told(OVERLONG, row, column, said, "remove the row or raise max_prompt_length")

    def _length(self, messages: list[dict[str, Any]]) -> int | None:
        if self._count is None:
            length = characters(messages)
        else:
            try:
                length = self._count([clean(message) for message in messages])
            except Exception:  # templates raise what they like
                return None
        self._counts.append(length)
        return length

    def _of_file(self) -> Iterator[Finding]:
        if not self.overview.rows:
            yield Finding(
                NO_ROWS.code, NO_ROWS.severity, "", "the file has no rows", "write it with its rows", str(self._path)
            )
        elif self.overview.column == "prompt":
            yield from self._answers.findings(str(self._path))

    def _no_column(self, row: Row) -> Finding:
        there = ", ".join(list(row.values)[:20]) or "none"
        said = f"there is no column prompt (tasks) or messages (conversations); there are: {there}"
        hint = "agentic-rl data prepare makes tasks of questions and answers"
        return Finding(MISSING_COLUMN.code, MISSING_COLUMN.severity, "", said, hint, row.file)


def told(page: Page, row: Row, column: str, message: str, hint: str) -> Finding:
    """A finding about a column of a row."""
    return Finding(page.code, page.severity, f"{row.key}.{column}", message, hint, row.file, row.line)


def _limited(findings: Iterator[Finding]) -> list[Finding]:
    """At most `MOST_TOLD` findings of each code; one more says how many were left out."""
    kept: list[Finding] = []
    counts: Counter[str] = Counter()
    last: dict[str, Finding] = {}
    for found in findings:
        counts[found.code] += 1
        last[found.code] = found
        if counts[found.code] <= MOST_TOLD:
            kept.append(found)
    for code, count in counts.items():
        if count > MOST_TOLD:
            one = last[code]
            said = f"{count - MOST_TOLD:,} more rows have this finding, the last is {one.key.partition('.')[0]}"
            kept.append(Finding(code, one.severity, "", said, "", one.file))
    return kept
