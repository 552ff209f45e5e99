"""The rows of parquet, JSON and JSONL files, each with its number; a row that can't be read costs that row alone."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agentic_rl.config.artifacts.data_pages import UNREADABLE_DATA, UNREADABLE_JSON
from agentic_rl.config.artifacts.pages import finding
from agentic_rl.config.diagnostics import Finding
from agentic_rl.data.pages import UNREADABLE_ROW

LINES = (".jsonl", ".ndjson")
_BATCH = 1024


class DataFileError(Exception):
    """A file can't be read as a whole; `finding` says why."""

    def __init__(self, found: Finding) -> None:
        super().__init__(found)
        self.finding = found


@dataclass(frozen=True)
class Row:
    """One row of a file."""

    file: str
    number: int
    """Counted from 0."""
    values: dict[str, Any]
    line: int | None = None
    """Where it stands in a JSONL file, from 1."""

    @property
    def key(self) -> str:
        """How findings name it."""
        return f"[{self.number}]"


def read_rows(path: Path) -> Iterator[Row | Finding]:
    """Give the rows of a file in their order, and a finding instead of one that can't be read.

    The kind of the file is told by its ending: `.parquet`, `.json` (a list of objects), `.jsonl` or `.ndjson`.

    Raises:
        DataFileError: it can't be opened, is of another kind, or is damaged as a whole.
    """
    kind = path.suffix.lower()
    try:
        if kind == ".parquet":
            yield from _parquet(path)
        elif kind in LINES:
            yield from _lines(path)
        elif kind == ".json":
            yield from _list(path)
        else:
            said = f"ends in {kind!r}" if kind else "has no ending"
            raise _unusable(path, f"{said}; data files are .parquet, .json, .jsonl", "rename or convert it")
    except OSError as error:
        raise _unusable(path, f"can't be read: {error.strerror or error}", "name a file that is there") from None


def _parquet(path: Path) -> Iterator[Row | Finding]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    number = 0
    try:
        with path.open("rb") as file:
            for batch in pq.ParquetFile(file).iter_batches(_BATCH):
                for values in batch.to_pylist():
                    yield Row(str(path), number, values)
                    number += 1
    except (pa.ArrowException, UnicodeDecodeError, ValueError) as error:
        said = f"can't be decoded after row {number}" if number else "is not readable as parquet"
        raise _unusable(path, f"{said}: {str(error).partition(chr(10))[0]}", "write it again") from None


def _lines(path: Path) -> Iterator[Row | Finding]:
    number = 0
    with path.open("rb") as file:
        for line, text in enumerate(file, 1):
            if text.strip(b"\xef\xbb\xbf \t\r\n"):
                yield _row(path, number, text, line)
                number += 1


def _row(path: Path, number: int, text: bytes, line: int) -> Row | Finding:
    try:
        values = json.loads(text.decode("utf-8-sig" if line == 1 else "utf-8"))
    except UnicodeDecodeError as error:
        return _bad_row(path, number, f"is not UTF-8 text (byte {error.start} of the line)", line)
    except json.JSONDecodeError as error:
        return _bad_row(path, number, f"is not JSON: {error.msg} (column {error.colno})", line)
    except (ValueError, RecursionError):
        return _bad_row(path, number, "is nested too deep or has a number that is too long", line)
    return _checked(path, number, values, line)


def _list(path: Path) -> Iterator[Row | Finding]:
    try:
        rows = json.loads(path.read_text("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise _unusable(path, f"is not UTF-8 text (byte {error.start})", "write it as UTF-8", json_file=True) from None
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        hint = "a file with an object a line ends in .jsonl" if error.msg == "Extra data" else "write it again"
        raise _unusable(path, f"is not JSON: {error.msg} ({place})", hint, json_file=True) from None
    except (ValueError, RecursionError):
        raise _unusable(path, "is nested too deep", "write a list of objects", json_file=True) from None
    if not isinstance(rows, list):
        said = f"holds {_kind(rows)}, not a list of objects"
        keys = [name for name, value in rows.items() if isinstance(value, list)] if isinstance(rows, dict) else []
        hint = f"write the list {keys[0]!r} to a file of its own" if keys else "write a list of objects"
        raise _unusable(path, said, hint, json_file=True)
    for number, values in enumerate(rows):
        yield _checked(path, number, values)


def _checked(path: Path, number: int, values: Any, line: int | None = None) -> Row | Finding:
    if not isinstance(values, dict):
        return _bad_row(path, number, f"is {_kind(values)}, not an object", line)
    if not _is_text(values):
        return _bad_row(path, number, "holds half of a surrogate pair, which is no text", line)
    return Row(str(path), number, values, line)


def _is_text(values: dict[str, Any]) -> bool:
    try:
        json.dumps(values, ensure_ascii=False, default=str).encode()
    except (UnicodeEncodeError, RecursionError):
        return False
    return True


def _kind(value: Any) -> str:
    names = {dict: "an object", list: "a list", str: "text", bool: "a truth value", type(None): "null"}
    return names.get(type(value), "a number")


def _bad_row(path: Path, number: int, said: str, line: int | None) -> Finding:
    hint = "repair it, or leave it out"
    page = UNREADABLE_ROW
    return Finding(page.code, page.severity, f"[{number}]", f"the row {said}", hint, str(path), line)


def _unusable(path: Path, said: str, hint: str, *, json_file: bool = False) -> DataFileError:
    found = finding(UNREADABLE_JSON if json_file else UNREADABLE_DATA, "", f"{path.name} {said}", hint)
    return DataFileError(Finding(found.code, found.severity, "", found.message, found.hint, str(path)))
