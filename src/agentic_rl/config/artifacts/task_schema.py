"""Which columns the backends read from a parquet file, and of which types they have to be."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from agentic_rl.config.artifacts.data_pages import MISSING_COLUMN, NO_DATA_SOURCE, WRONG_COLUMN_TYPE
from agentic_rl.config.artifacts.pages import finding
from agentic_rl.config.diagnostics import Finding
from agentic_rl.config.fields.wording import show

if TYPE_CHECKING:
    import pyarrow as pa

TASKS = ("prompt", "reward_model")
CONVERSATIONS = ("messages",)
OPTIONAL = ("data_source", "extra_info")
SHAPES = {
    "prompt": "a list of messages with the text fields role and content",
    "reward_model": "a struct with ground_truth",
    "data_source": "text",
    "extra_info": "a struct",
    "messages": "a list of messages with the text fields role and content",
}
"""What each column has to be, in words."""
_MOST_NAMES = 20
_LONGEST_TYPE = 200


def check_columns(schema: pa.Schema, required: tuple[str, ...], path: str, key: str) -> list[Finding]:
    """What is wrong with the columns of the file at `path`."""
    missing = [name for name in required if name not in schema.names]
    if missing:
        plural = "s" * (len(missing) > 1)
        message = f"{path} lacks the column{plural} {', '.join(missing)}; it has: {_listed(schema.names)}"
        return [finding(MISSING_COLUMN, key, message, "; ".join(f"{name}: {SHAPES[name]}" for name in missing))]
    looked_at = required + OPTIONAL * (required == TASKS)
    return [*_repeated(schema, looked_at, path, key), *_wrong(schema, looked_at, path, key)] or list(
        _without_source(schema, required, path, key)
    )


def is_text(kind: pa.DataType) -> bool:
    """Whether a column of this type holds text, dictionary-encoded or not."""
    import pyarrow.types as is_

    if is_.is_dictionary(kind):
        kind = kind.value_type
    return bool(is_.is_string(kind) or is_.is_large_string(kind) or _is_view(kind))


def _is_view(kind: pa.DataType) -> bool:
    return str(kind) == "string_view"  # pyarrow 15 has the type's name only in newer files


def _repeated(schema: pa.Schema, names: tuple[str, ...], path: str, key: str) -> Iterator[Finding]:
    for name in names:
        count = schema.names.count(name)
        if count > 1:
            yield finding(WRONG_COLUMN_TYPE, key, f"{path} has {count} columns called {name}", "keep one of them")


def _wrong(schema: pa.Schema, names: tuple[str, ...], path: str, key: str) -> Iterator[Finding]:
    for field in schema:
        if field.name in names and not _fits(field.name, field.type):
            kind = str(field.type)
            kind = kind if len(kind) <= _LONGEST_TYPE else f"{kind[:_LONGEST_TYPE]}..."
            message = f"{path}: the column {field.name} is {kind}; it has to be {SHAPES[field.name]}"
            yield finding(WRONG_COLUMN_TYPE, key, message, f"convert {field.name} and write the file again")


def _without_source(schema: pa.Schema, required: tuple[str, ...], path: str, key: str) -> Iterator[Finding]:
    if required == TASKS and "data_source" not in schema.names:
        message = f"{path} has no column data_source, so there are no means by source"
        yield finding(NO_DATA_SOURCE, key, message, "add a text column data_source")


def _fits(name: str, kind: pa.DataType) -> bool:
    import pyarrow.types as is_

    if name in {"prompt", "messages"}:
        return _is_list(kind) and _has_text(kind.value_type, ("role", "content"))
    if name == "reward_model":
        return bool(is_.is_struct(kind)) and kind.get_field_index("ground_truth") >= 0
    if name == "data_source":
        return is_text(kind) or bool(is_.is_null(kind))
    return bool(is_.is_struct(kind) or is_.is_null(kind))


def _is_list(kind: pa.DataType) -> bool:
    import pyarrow.types as is_

    return bool(is_.is_list(kind) or is_.is_large_list(kind) or is_.is_fixed_size_list(kind))


def _has_text(struct: pa.DataType, names: tuple[str, ...]) -> bool:
    import pyarrow.types as is_

    if not is_.is_struct(struct):
        return False
    return all(struct.get_field_index(name) >= 0 and is_text(struct.field(name).type) for name in names)


def _listed(names: list[str]) -> str:
    shown = [name if name.isprintable() and len(name) <= 60 else show(name) for name in names[:_MOST_NAMES]]
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return (", ".join(shown) or "none") + more
