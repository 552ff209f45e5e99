"""The agents that rows of the data ask for: the column `agent_name`, where there is one."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches

from agentic_rl.backends.verl.findings import UNKNOWN_AGENT, finding
from agentic_rl.backends.verl.run import VerlRun
from agentic_rl.config.agent_names import is_known_agent, known_agents
from agentic_rl.config.artifacts.json_file import NotUsableError
from agentic_rl.config.artifacts.parquet_file import OutOfBoundsError, ParquetData
from agentic_rl.config.diagnostics import Finding
from agentic_rl.config.fields.wording import show
from agentic_rl.config.secure_paths import CheckedPath

COLUMN = "agent_name"
_MOST_ROWS = 1 << 20
_MOST_NAMES = 64


def agents_of_data(run: VerlRun) -> dict[str, list[str]]:
    """Key of each data file -> the different agents that its rows name, in the order of the file; empty without any.

    Files that can't be read have findings of their own already, and count as without agents.
    """
    return {key: _names(checked) for key, checked in run.data.items()}


def check_agents(run: VerlRun) -> Iterator[Finding]:
    """Agents that rows name and that nobody knows. The configured one is known, be it a file's or a name's."""
    configured = run.agent_name
    for key, names in agents_of_data(run).items():
        unknown = [name for name in names if name != configured and not is_known_agent(name)]
        if not unknown:
            continue
        known = sorted({*known_agents(), configured})
        near = get_close_matches(unknown[0], known, 1)
        more = f" (and {len(unknown) - 1} more)" if len(unknown) > 1 else ""
        message = f"rows name the agent {show(unknown[0])}{more} in {COLUMN}, which nobody registered"
        offered = ", ".join([*near, *(name for name in known if name not in near)])
        hint = f"one of {offered}; or leave the column out, and every row takes agent_name"
        yield finding(UNKNOWN_AGENT, key, message, hint)


def _names(checked: CheckedPath) -> list[str]:
    found: dict[str, None] = {}
    try:
        with checked.open() as file:
            data = ParquetData(file)
            leaves = data.leaves(COLUMN) if _is_text(data) else []
            for batch in data.batches(leaves, _MOST_ROWS) if leaves else ():
                found |= dict.fromkeys(name for name in batch.column(COLUMN).unique().to_pylist() if name)
                if len(found) >= _MOST_NAMES:
                    break
    except (NotUsableError, OutOfBoundsError, OSError, UnicodeDecodeError):
        return []
    return list(found)


def _is_text(data: ParquetData) -> bool:
    import pyarrow.types as is_

    if COLUMN not in data.columns:
        return False
    kind = data.schema.field(COLUMN).type
    kind = kind.value_type if is_.is_dictionary(kind) else kind
    return bool(is_.is_string(kind) or is_.is_large_string(kind))
