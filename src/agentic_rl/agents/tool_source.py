"""Tools that are known only once something has been started, and the choice of tools that a row of the data makes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from agentic_rl.agents.tool import Tool


class ToolSource(ABC):
    """Where tools come from while a run goes on, such as an MCP server."""

    @abstractmethod
    async def tools(self) -> Sequence[Tool]:
        """Return the tools, the same ones in every call; the first call starts what they need."""

    async def close(self) -> None:  # noqa: B027 - many have nothing to free
        """Free what the tools need. The next call of `tools`, or of a tool, starts it again."""


def by_name(tools: Iterable[Tool]) -> dict[str, Tool]:
    """Return tools by their names.

    Raises:
        ValueError: two have one name.
    """
    named: dict[str, Tool] = {}
    for one in tools:
        if one.name in named:
            raise ValueError(f"two tools are called {one.name!r}, {named[one.name]} and {one}; rename one of them")
        named[one.name] = one
    return named


def chosen(names: Iterable[str], extra_info: Mapping[str, Any]) -> frozenset[str]:
    """Return the names of the tools that a task may use, out of those that its agent has.

    verl's data says it in one of two ways: `tool_selection` is a list of names, and `tools_kwargs` has a key for each
    tool. Rows whose `tools_kwargs` name none of the agent's tools were made for other tools, and may use all of them.

    Raises:
        ValueError: `tool_selection` names a tool that the agent hasn't.
    """
    known = frozenset(names)
    selection = extra_info.get("tool_selection")
    if selection:
        wanted = frozenset([selection] if isinstance(selection, str) else selection)
        if wanted - known:
            unknown = ", ".join(map(repr, sorted(wanted - known)))
            offered = ", ".join(sorted(known)) or "none"
            raise ValueError(f"extra_info.tool_selection has {unknown}; the agent's tools are {offered}")
        return wanted
    settings = extra_info.get("tools_kwargs") or {}
    # Parquet fills in a null for each tool that only other rows have.
    named = frozenset(name for name, one in settings.items() if one is not None)
    return named & known or known
