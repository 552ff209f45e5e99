"""Looking at rows: how long the prompts are, in bytes, and which of them are empty."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice, pairwise
from typing import TYPE_CHECKING, Any

from agentic_rl.config.artifacts.parquet_file import ParquetData

if TYPE_CHECKING:
    import pyarrow as pa

MOST_ROWS = 1 << 15
MOST_BYTES = 64 << 20
MOST_KEPT = 512
"""Long prompts whose text is kept, for counting their tokens."""
MOST_ROLES, LONGEST_ROLE = 32, 64
FEW_BYTES = 4 << 20
"""So much text is compared in Python: pyarrow's own way loads a module that takes longer than that."""


@dataclass
class Rows:
    """What the rows looked at show."""

    seen: int = 0
    empty: int = 0
    """Rows without a message."""
    first_empty: int = 0
    """The first of them, by the order in which they were looked at."""
    sourceless: int = 0
    """Rows whose `data_source` is empty."""
    roles: set[str] = field(default_factory=set)
    """Roles of messages."""
    long: int = 0
    """Rows whose prompt has more bytes than was asked."""
    texts: list[str] = field(default_factory=list)
    """The messages of the first long ones, joined; of a very long one the beginning."""


def look(data: ParquetData, column: str, longer_than: int, keep: int) -> Rows:
    """Look at rows spread over the file; keep the first `keep` characters of prompts of more bytes than `longer_than`.

    Raises:
        NotUsableError: the data contradict the footer.
        OutOfBoundsError: decoding would take too much memory.
    """
    rows = Rows()
    leaves = data.leaves(column, "content") + data.leaves(column, "role") + data.leaves("data_source")
    total = 0
    for batch in data.batches(leaves, MOST_ROWS):
        total += _look_at(batch, column, longer_than, keep, rows)
        if total > MOST_BYTES:
            break
    return rows


def _look_at(batch: pa.RecordBatch, column: str, longer_than: int, keep: int, rows: Rows) -> int:
    """Add a batch to `rows`; the bytes of its prompts."""
    prompts = batch.column(column)
    messages = _bounds(prompts)
    texts = _text(prompts.values.field("content") if hasattr(prompts.values, "field") else prompts.values)
    bounds = _bounds(texts)
    ends = [bounds[message] for message in messages]
    empty = [row for row, (start, end) in enumerate(pairwise(messages)) if start == end]
    if empty and not rows.empty:
        rows.first_empty = rows.seen + empty[0]
    rows.empty += len(empty)
    rows.roles |= _different(prompts.values.slice(messages[0], messages[-1] - messages[0]).field("role"))
    rows.seen += len(batch)
    if "data_source" in batch.schema.names:
        rows.sourceless += _empty(batch.column("data_source"))
    for row, (start, end) in enumerate(pairwise(ends)):
        if end - start > longer_than:
            rows.long += 1
            if len(rows.texts) < MOST_KEPT:
                rows.texts.append(_joined(texts, messages[row], messages[row + 1], keep))
    return int(ends[-1] - ends[0])


def _different(column: pa.Array) -> set[str]:
    """The different texts of a column, the first of them where they are many."""
    texts = _text(column)
    if texts.nbytes <= FEW_BYTES:
        with contextlib.suppress(UnicodeDecodeError):
            different = dict.fromkeys(texts.to_pylist())
            return {text[:LONGEST_ROLE] for text in islice(different, MOST_ROLES) if text is not None}
    buffers = [text.as_buffer() for text in texts.unique()[:MOST_ROLES]]
    return {text[:LONGEST_ROLE].to_pybytes().decode(errors="replace") for text in buffers if text is not None}


def _empty(column: pa.Array) -> int:
    import pyarrow.types as is_

    if is_.is_null(column.type):
        return len(column)
    return sum(start == end for start, end in pairwise(_bounds(_text(column))))


def _text(column: pa.Array) -> pa.Array:
    """Text as one array with offsets; a null is as long as the empty text."""
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    kind = column.type
    return column if pa.types.is_string(kind) or pa.types.is_large_string(kind) else column.cast(pa.string())


def _bounds(column: pa.Array) -> Sequence[int]:
    """Where each item of a list or text column begins, and where the last one ends."""
    import pyarrow as pa

    start, stop = column.offset, column.offset + len(column) + 1
    if pa.types.is_fixed_size_list(column.type):
        size = column.type.list_size
        return range(start * size, stop * size, size)
    offsets = column.buffers()[1]
    if offsets is None:
        return [0] * (len(column) + 1)
    is_large = pa.types.is_large_list(column.type) or pa.types.is_large_string(column.type)
    return memoryview(offsets).cast("q" if is_large else "i")[start:stop]


def _joined(texts: Any, first: int, end: int, keep: int) -> str:
    joined = ""
    for number in range(first, end):
        text = texts[number].as_buffer()
        if text is not None:  # damaged data may be no UTF-8; a character has at most four bytes
            joined += text[: 4 * keep].to_pybytes().decode(errors="replace")
        if len(joined) >= keep:
            break
    return joined[:keep]
