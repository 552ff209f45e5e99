"""The parquet files of `verl` and `local`: facts `@train.*` and `@val.*`, and what is wrong with the files."""

from __future__ import annotations

from typing import Any

from agentic_rl.config.artifacts.data_pages import (
    EMPTY_PROMPT,
    NO_ANSWERS,
    NO_DATA_SOURCE,
    NO_ROWS,
    NOT_DECODED,
    UNKNOWN_ROLE,
    UNREADABLE_DATA,
)
from agentic_rl.config.artifacts.json_file import NotUsableError
from agentic_rl.config.artifacts.pages import finding
from agentic_rl.config.artifacts.parquet_file import OutOfBoundsError, ParquetData
from agentic_rl.config.artifacts.prompt_tokens import PromptCounter
from agentic_rl.config.artifacts.result import Artifacts, Request
from agentic_rl.config.artifacts.task_rows import Rows, look
from agentic_rl.config.artifacts.task_schema import CONVERSATIONS, TASKS, check_columns
from agentic_rl.config.diagnostics import Finding
from agentic_rl.config.fields.wording import show
from agentic_rl.config.secure_paths import CheckedPath

FILES = {"train": ("train_files", TASKS), "val": ("val_files", TASKS), "sft": ("sft_files", CONVERSATIONS)}
"""Name in facts -> key in the section, and the columns that are required."""
ROLES = frozenset({"system", "developer", "user", "assistant", "tool"})
MOST_NAMED = 3


def read(request: Request) -> Artifacts:
    """Read the footers of the data files and look at some of their rows."""
    result = Artifacts()
    if request.backend not in ("verl", "local"):
        return result
    counter = PromptCounter(request)
    for name, (key, required) in FILES.items():
        dotted = request.of_backend(key)
        checked = request.checked.get(dotted)
        if checked is None:
            continue
        part = _read_file(checked, dotted, required, counter)
        result.facts |= {f"@{name}.{fact}": value for fact, value in part.facts.items()}
        result.findings += part.findings
    return result


def _read_file(checked: CheckedPath, key: str, required: tuple[str, ...], counter: PromptCounter) -> Artifacts:
    result = Artifacts()
    try:
        with checked.open() as file:
            data = ParquetData(file)
            result.facts = {"rows": data.rows, "columns": tuple(data.columns)}
            result.findings = check_columns(data.schema, required, checked.path, key)
            if not data.rows and not result.findings:
                result.findings.append(finding(NO_ROWS, key, f"{checked.path} has no rows", "write it with its rows"))
            elif all(found.severity != "error" for found in result.findings):
                result.findings += _answers(data, checked.path, key) if required == TASKS else []
                rows = look(data, required[0], counter.suspicious, counter.keep)
                result.findings += _of_rows(rows, data.rows, checked.path, key, required[0])
                result.facts |= _overlong(rows, data.rows, counter) if required == TASKS else {}
    except (NotUsableError, OSError) as error:
        result.findings.append(_unreadable(checked.path, key, error))
    except OutOfBoundsError as error:
        message = f"{checked.path} has {error}; its rows were not looked at"
        result.findings.append(finding(NOT_DECODED, key, message, "write it with pages of about 1 MB"))
    return result


def _answers(data: ParquetData, path: str, key: str) -> list[Finding]:
    leaves = data.leaves("reward_model", "ground_truth")
    untyped = str(data.schema.field("reward_model").type.field("ground_truth").type) == "null"
    if not untyped and (len(leaves) != 1 or not data.all_null(leaves[0])):
        return []
    message = f"{path}: reward_model.ground_truth is null in every row"
    return [finding(NO_ANSWERS, key, message, "write the expected answers")]


def _unreadable(path: str, key: str, error: NotUsableError | OSError) -> Finding:
    said = str(error) if isinstance(error, NotUsableError) else f"can't be read: {error.strerror or error}"
    return finding(UNREADABLE_DATA, key, f"{path} {said}", "write it again, with pyarrow.parquet.write_table")


def _of_rows(rows: Rows, total: int, path: str, key: str, column: str) -> list[Finding]:
    among = f"of the {rows.seen:,} rows looked at" if rows.seen < total else f"of {total:,} rows"
    found = []
    if rows.empty:
        first = f"the first in row {rows.first_empty}" if rows.seen == total else "one is enough to stop a run"
        message = f"{path}: {column} has no message in {rows.empty:,} {among}, {first}"
        found.append(finding(EMPTY_PROMPT, key, message, "remove these rows"))
    strange = sorted(rows.roles - ROLES)
    if strange:
        message = f"{path}: {column} has messages of the role {', '.join(map(show, strange[:MOST_NAMED]))}, which chat "
        message += "templates leave out or refuse"
        found.append(finding(UNKNOWN_ROLE, key, message, "system, user, assistant or tool"))
    if rows.sourceless and column == TASKS[0]:
        message = f"{path}: data_source is empty in {rows.sourceless:,} {among}"
        found.append(finding(NO_DATA_SOURCE, key, message, "write where each task comes from"))
    return found


def _overlong(rows: Rows, total: int, counter: PromptCounter) -> dict[str, Any]:
    found = counter.count(rows, total)
    return {"overlong": found} if found else {}
