"""`search`: the policy looks something up, in a file of documents or at a retrieval server."""

from __future__ import annotations

from pathlib import Path

from agentic_rl.agents.tool import Tool, tool
from agentic_rl.agents.tools.local_index import LocalIndex
from agentic_rl.agents.tools.passages import Searcher, as_text
from agentic_rl.agents.tools.retriever import Retriever


def open_searcher(where: str | Path, topk: int = 3) -> Searcher:
    """Return what answers searches at `where`: the address of a retrieval server, or a file of documents.

    Raises:
        SearchError, FileNotFoundError: the file is not there, or is no collection of documents.
        ImportError: what it needs is not installed.
    """
    if isinstance(where, str) and where.startswith(("http://", "https://")):
        return Retriever(where, topk)
    return LocalIndex(where, topk)


def search_tool(where: Searcher | str | Path, topk: int = 3) -> Tool:
    """Make the tool `search`.

    Args:
        where: the address of a retrieval server, a file of documents (`LocalIndex` tells which), or anything with the
            method of a `Searcher`.
        topk: how many passages a search gives; a `Searcher` knows it already.
    """
    searcher = open_searcher(where, topk) if isinstance(where, (str, Path)) else where

    @tool
    async def search(query: str) -> str:
        """Search in a collection of documents and return the passages that fit best.

        Args:
            query: a few words that the passage should contain.
        """
        return as_text(await searcher.search(query))

    return search
