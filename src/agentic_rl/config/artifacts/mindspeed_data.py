"""The data of mindspeed_rl: JSON or JSONL rows, or preprocessed files under a prefix, against their columns."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import Any, BinaryIO

from agentic_rl.config.artifacts.data_pages import MISSING_KEY, NOT_JSON, NOT_PACKED, UNREADABLE_JSON
from agentic_rl.config.artifacts.json_file import NotUsableError
from agentic_rl.config.artifacts.json_prompts import look_at_lines, look_at_objects, prompt_column
from agentic_rl.config.artifacts.json_rows import all_rows, first_rows
from agentic_rl.config.artifacts.pages import finding
from agentic_rl.config.artifacts.prompt_tokens import PromptCounter
from agentic_rl.config.artifacts.result import Artifacts, Request
from agentic_rl.config.artifacts.task_rows import Rows
from agentic_rl.config.diagnostics import Finding
from agentic_rl.config.secure_paths import CheckedPath, prefix_files

FILES = {"train": "mindspeed_rl.data_path", "val": "mindspeed_rl.test_data_path"}
COLUMNS_KEY = "dataset_additional_keys"
COUNTED = 64 << 20
"""Bytes up to which the lines of a JSONL file are counted."""
PARSED = 8 << 20
"""Bytes up to which a JSON file is parsed to count its rows."""
_PACKED = re.compile(r"_packed_(.+)_document\.(bin|idx)")
_BLOCK = 1 << 20


def read(request: Request) -> Artifacts:
    """Facts `@train.columns`, `.rows`, `.overlong` and the same of `@val`, and what is wrong with the data."""
    result = Artifacts()
    if request.backend != "mindspeed_rl":
        return result
    wanted, counter = request.values.get(COLUMNS_KEY) or [], PromptCounter(request)
    for name, key in FILES.items():
        value, checked = request.values.get(key), request.checked.get(key)
        if checked is not None and checked.kind == "file":
            part = _of_file(checked, key, wanted, counter)
        elif checked is None and isinstance(value, str) and value.startswith("/"):
            part = _of_prefix(value, key, wanted)
        else:
            continue
        result.facts |= {f"@{name}.{fact}": found for fact, found in part.facts.items()}
        result.findings += part.findings
    return result


def _of_file(checked: CheckedPath, key: str, wanted: Sequence[str], counter: PromptCounter) -> Artifacts:
    if not checked.path.endswith((".json", ".jsonl")):
        message = f"{checked.path} ends in neither .json nor .jsonl, and a file of preprocessed data is not named whole"
        hint = "write the rows as .jsonl, an object a line; or name the prefix of preprocessed files"
        return Artifacts(findings=[finding(NOT_JSON, key, message, hint)])
    try:
        with checked.open() as file:
            rows = first_rows(file)
            facts: dict[str, Any] = {"columns": tuple(dict.fromkeys(name for row in rows for name in row))}
            column = prompt_column(wanted, facts["columns"])
            facts |= _of_rows(file, column, counter, lines=checked.path.endswith(".jsonl"))
    except (NotUsableError, OSError) as error:
        said = str(error) if isinstance(error, NotUsableError) else f"can't be read: {error.strerror or error}"
        hint = "a list of objects (.json), or an object a line (.jsonl)"
        return Artifacts(findings=[finding(UNREADABLE_JSON, key, f"{checked.path} {said}", hint)])
    return Artifacts(facts, [found for name in wanted for found in _lacking(name, rows, checked.path)])


def _of_rows(file: BinaryIO, column: str | None, counter: PromptCounter, *, lines: bool) -> dict[str, Any]:
    """How many rows there are, unless counting takes too long, and the prompts in `column` that are too long."""
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    if lines:
        count = sum(1 for line in file if not line.isspace()) if size <= COUNTED else None
        rows = look_at_lines(file, column, counter.suspicious, counter.keep) if column else Rows()
    else:
        objects = all_rows(file, PARSED)
        rows = look_at_objects(objects or (), column, counter.suspicious, counter.keep)
        count = None if objects is None else rows.seen
    found = counter.count(rows, count)
    return {**({} if count is None else {"rows": count}), **({"overlong": found} if found else {})}


def _lacking(name: str, rows: list[dict[str, Any]], path: str) -> list[Finding]:
    without = [number for number, row in enumerate(rows, 1) if name not in row]
    if not without:
        return []
    there = ", ".join(sorted({column for row in rows for column in row})[:20])
    some = "every row looked at" if len(without) == len(rows) else f"row {without[0]}"
    message = f"{name!r} is no column of {some} of {path}; columns: {there}"
    return [finding(MISSING_KEY, COLUMNS_KEY, message, "name columns of the data, or add this one to every row")]


def _of_prefix(prefix: str, key: str, wanted: Sequence[str]) -> Artifacts:
    """The pairs of files that preprocessing writes for each column."""
    columns: dict[str, set[str]] = {}
    files = prefix_files(prefix)
    if not files:
        return Artifacts()  # the path policy says that nothing is there
    for path in files:
        match = _PACKED.fullmatch(path, len(prefix))
        if match and os.path.getsize(path):  # noqa: PTH202 (a name of prefix_files, relative to nothing)
            columns.setdefault(match[1], set()).add(match[2])
    whole = sorted(name for name, endings in columns.items() if len(endings) == 2)
    if not whole:
        message = f"{prefix} begins the names of {len(files)} files, none of them a whole PREFIX_packed_COLUMN_document"
        return Artifacts(findings=[finding(NOT_PACKED, key, message, "preprocess the data, or name a .jsonl file")])
    missing = [name for name in wanted if name not in whole]
    message = f"{', '.join(missing)}: no whole pair {prefix}_packed_COLUMN_document; there are: {', '.join(whole[:20])}"
    lacking = [finding(MISSING_KEY, COLUMNS_KEY, message, "preprocess with these columns", "warning")]
    return Artifacts({"columns": tuple(whole)}, lacking if missing else [])
