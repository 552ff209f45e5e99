"""Opening the data files, and the findings about what they hold. Needs pyarrow, not torch."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO

from agentic_rl.backends.errors import DataError
from agentic_rl.backends.findings import (
    EMPTY_PROMPT,
    MISSING_COLUMN,
    NO_DATA_SOURCE,
    TOO_FEW_ROWS,
    UNREADABLE_DATA,
    WRONG_COLUMN_TYPE,
    finding,
)
from agentic_rl.config.diagnostics import Finding

if TYPE_CHECKING:
    import pyarrow as pa

    from agentic_rl.config.load import Loaded

TASK_COLUMNS = ("prompt", "reward_model", "data_source", "extra_info")
REQUIRED_COLUMNS = ("prompt", "reward_model")
SHAPES = {
    "prompt": "a list of messages with the text fields role and content",
    "reward_model": "a struct with ground_truth",
    "data_source": "text",
    "extra_info": "a struct",
    "messages": "a list of messages with the text fields role and content",
}
"""What each column has to be, in words."""


@dataclass(frozen=True)
class DataFile:
    """A parquet file that the configuration names."""

    key: str
    """The dotted key that names it."""
    path: str
    open: Callable[[], BinaryIO]
    """Opens what was checked, and nothing else."""

    @classmethod
    def of(cls, loaded: Loaded, key: str) -> DataFile:
        """The file that `key` of a checked configuration names.

        Raises:
            LookupError: it was loaded without looking at files.
        """
        checked = loaded.checked.get(key)
        if checked is None:
            raise LookupError(f"{key} was not checked (load with files=True); training opens checked files only")
        return cls(key, checked.path, checked.open)

    def table(self, columns: tuple[str, ...]) -> pa.Table:
        """Read those of `columns` that the file has.

        Raises:
            DataError: it can't be opened, or is not parquet.
        """
        import pyarrow.parquet as pq

        with self._readable() as file:
            opened = pq.ParquetFile(file)
            return opened.read(columns=[name for name in columns if name in opened.schema_arrow.names])

    def rows(self) -> int:
        """The number of rows, from the file's own summary.

        Raises:
            DataError: it can't be opened, or is not parquet.
        """
        import pyarrow.parquet as pq

        with self._readable() as file:
            return int(pq.read_metadata(file).num_rows)

    def column_names(self) -> list[str]:
        """The names of all columns."""
        import pyarrow.parquet as pq

        with self._readable() as file:
            return list(pq.read_schema(file).names)

    @contextlib.contextmanager
    def _readable(self) -> Iterator[BinaryIO]:
        import pyarrow as pa

        try:
            with self.open() as file:
                yield file
        except (pa.ArrowException, OSError) as error:
            reason = str(error).partition("\n")[0]
            raise DataError(f"{self.key}: {self.path} can't be read as parquet: {reason}", "write it again") from error


def check_tasks(file: DataFile, at_least: int) -> list[Finding]:
    """What keeps `file` from giving batches of `at_least` tasks."""
    try:
        table = file.table(TASK_COLUMNS)
    except DataError as error:
        return [finding(UNREADABLE_DATA, file.key, str(error.__cause__))]
    found = _missing(file, table, REQUIRED_COLUMNS) + _wrong_types(file, table)
    if found:
        return found
    if "data_source" not in table.column_names:
        message = f"{file.path} has no column data_source, so there are no means by source"
        found.append(finding(NO_DATA_SOURCE, file.key, message, "add a text column data_source"))
    return found + _too_few(file, table, at_least) + _empty(file, table, "prompt")


def check_conversations(file: DataFile) -> list[Finding]:
    """What keeps `file` from being warmed up on."""
    try:
        table = file.table(("messages",))
    except DataError as error:
        return [finding(UNREADABLE_DATA, file.key, str(error.__cause__))]
    found = _missing(file, table, ("messages",)) or _wrong_types(file, table)
    return found or _too_few(file, table, 1) + _empty(file, table, "messages")


def _missing(file: DataFile, table: pa.Table, required: tuple[str, ...]) -> list[Finding]:
    missing = [name for name in required if name not in table.column_names]
    if not missing:
        return []
    there = ", ".join(file.column_names()) or "none"
    message = f"{file.path} lacks the column{'s' * (len(missing) > 1)} {', '.join(missing)}; it has: {there}"
    return [finding(MISSING_COLUMN, file.key, message, "; ".join(f"{name}: {SHAPES[name]}" for name in missing))]


def _wrong_types(file: DataFile, table: pa.Table) -> list[Finding]:
    wrong = [field for field in table.schema if not _fits(field.name, field.type)]
    return [_wrong_type(file, field.name, field.type) for field in wrong]


def _wrong_type(file: DataFile, name: str, kind: pa.DataType) -> Finding:
    message = f"{file.path}: the column {name} is {kind}; it has to be {SHAPES[name]}"
    return finding(WRONG_COLUMN_TYPE, file.key, message, f"convert {name} and write the file again")


def _fits(name: str, kind: pa.DataType) -> bool:
    import pyarrow.types as is_

    if name in {"prompt", "messages"}:
        return _is_list(kind) and _has_text(kind.value_type, ("role", "content"))
    if name == "reward_model":
        return bool(is_.is_struct(kind)) and kind.get_field_index("ground_truth") >= 0
    if name == "data_source":
        return _is_text(kind) or bool(is_.is_null(kind))
    return bool(is_.is_struct(kind) or is_.is_null(kind))


def _is_list(kind: pa.DataType) -> bool:
    import pyarrow.types as is_

    return bool(is_.is_list(kind) or is_.is_large_list(kind) or is_.is_fixed_size_list(kind))


def _is_text(kind: pa.DataType) -> bool:
    import pyarrow.types as is_

    if is_.is_dictionary(kind):
        kind = kind.value_type
    return bool(is_.is_string(kind) or is_.is_large_string(kind))


def _has_text(struct: pa.DataType, names: tuple[str, ...]) -> bool:
    import pyarrow.types as is_

    if not is_.is_struct(struct):
        return False
    return all(struct.get_field_index(name) >= 0 and _is_text(struct.field(name).type) for name in names)


def _too_few(file: DataFile, table: pa.Table, at_least: int) -> list[Finding]:
    if table.num_rows >= at_least:
        return []
    message = f"{file.path} has {table.num_rows} rows, fewer than one batch of {at_least}"
    return [finding(TOO_FEW_ROWS, file.key, message, f"at least {at_least} rows, or a smaller batch")]


def _empty(file: DataFile, table: pa.Table, column: str) -> list[Finding]:
    import pyarrow.compute as pc

    lengths = pc.fill_null(pc.list_value_length(table.column(column)), 0)
    rows = [row for row, length in enumerate(lengths.to_pylist()) if length == 0]
    if not rows:
        return []
    more = f" and {len(rows) - 1} more rows" if len(rows) > 1 else ""
    message = f"{file.path}: {column} of row {rows[0]}{more} has no message"
    return [finding(EMPTY_PROMPT, file.key, message, "remove these rows")]
