"""The columns of a parquet file, as training reads them, before its rows are looked at."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from agentic_rl.config.artifacts.data_pages import UNREADABLE_DATA
from agentic_rl.config.artifacts.json_file import NotUsableError
from agentic_rl.config.artifacts.parquet_file import ParquetData
from agentic_rl.config.artifacts.task_schema import CONVERSATIONS, TASKS, check_columns
from agentic_rl.config.diagnostics import Finding


def check_schema(path: Path) -> list[Finding]:
    """What is wrong with the columns of a parquet file; nothing of another file, which has none."""
    if path.suffix.lower() != ".parquet":
        return []
    try:
        with path.open("rb") as file:
            schema = ParquetData(file).schema
    except NotUsableError as error:
        found = [Finding(UNREADABLE_DATA.code, UNREADABLE_DATA.severity, "", f"{path.name} {error}", "write it again")]
    except OSError as error:
        said = f"can't be read: {error.strerror or error}"
        found = [Finding(UNREADABLE_DATA.code, "error", "", f"{path.name} {said}", "name a file that is there")]
    else:
        required = CONVERSATIONS if "messages" in schema.names and "prompt" not in schema.names else TASKS
        found = check_columns(schema, required, path.name, "")
    return [replace(one, file=str(path)) for one in found]
