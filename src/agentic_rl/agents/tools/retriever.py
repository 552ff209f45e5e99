"""Search by a server: `{queries, topk, return_scores}` in, `{result: [[{document, score}, ...], ...]}` out."""

from __future__ import annotations

import asyncio
import json
import random
import weakref
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from agentic_rl.agents.tools.passages import Passage, SearchError, passage

if TYPE_CHECKING:
    import aiohttp

_LONGEST_ANSWER = 64 << 20
"""Bytes."""
_GATHER = 0.003
"""Seconds for which the first query of a request waits for others."""
_FIRST_WAIT, _LONGEST_WAIT = 0.2, 10.0
"""Seconds before the second try, on average, and before any."""
_SHOWN = 200
_PATIENCE = frozenset({408, 425, 429})
"""Statuses below 500 that may be gone another time."""

Query = tuple[str, "asyncio.Future[list[Passage]]"]


class _PassingError(Exception):
    """A try failed that may succeed another time."""


class Retriever:
    """Asks a server. Queries of the same moment go in one request.

    Args:
        url: the whole address, such as `http://127.0.0.1:8000/retrieve`.
        topk: how many passages a search gives.
        seconds: what one try may take.
        tries: how often a request is sent before its queries fail; refused ones are sent once.
        batch: the most queries of one request.

    Raises:
        ImportError: aiohttp is not installed.
    """

    def __init__(self, url: str, topk: int = 3, *, seconds: float = 30.0, tries: int = 4, batch: int = 64) -> None:
        for name, value in {"topk": topk, "seconds": seconds, "tries": tries, "batch": batch}.items():
            if not value > 0:
                raise ValueError(f"{name}: {value!r}; write a number above 0")
        self._aiohttp = _library()
        self.url = url
        self._topk = topk
        self._seconds = seconds
        self._tries = tries
        self._batch = batch
        self._waiting: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, list[Query]]
        self._waiting = weakref.WeakKeyDictionary()
        self._sending: set[asyncio.Task[None]] = set()

    async def search(self, query: str) -> list[Passage]:
        """Return the passages that the server finds for a query, in its order."""
        loop = asyncio.get_running_loop()
        waiting = self._waiting.setdefault(loop, [])
        found: asyncio.Future[list[Passage]] = loop.create_future()
        # A server in another language may well fail on half of a character.
        waiting.append((query.encode("utf-8", "replace").decode(), found))
        if len(waiting) >= self._batch:
            self._send(loop)
        elif len(waiting) == 1:
            loop.call_later(_GATHER, self._send, loop)
        return await found

    def _send(self, loop: asyncio.AbstractEventLoop) -> None:
        queries = self._waiting.pop(loop, [])
        if queries:
            task = loop.create_task(self._answer(queries))
            self._sending.add(task)
            task.add_done_callback(self._sending.discard)

    async def _answer(self, queries: Sequence[Query]) -> None:
        """Give each query its passages, or the error; where a request of several is refused, each goes alone."""
        queries = [query for query in queries if not query[1].done()]  # the others have been given up
        try:
            results = await self._ask([text for text, _ in queries]) if queries else []
        except SearchError as error:
            if len(queries) > 1:
                await asyncio.gather(*(self._answer([query]) for query in queries))
            else:
                _give(queries, [error])
        except BaseException as error:
            _give(queries, [SearchError(f"{type(error).__name__}: {error}")] * len(queries))
            raise
        else:
            _give(queries, results)

    async def _ask(self, queries: list[str]) -> list[list[Passage]]:
        for tried in range(1, self._tries + 1):
            try:
                return await self._try(queries)
            except _PassingError as error:  # noqa: PERF203 - a request costs more
                if tried == self._tries:
                    raise SearchError(f"{self.url}: {error}; tried {tried} times") from None
                wait = min(_FIRST_WAIT * 2 ** (tried - 1), _LONGEST_WAIT)
                await asyncio.sleep(wait * random.uniform(0.5, 1.5))  # noqa: S311 - not a secret
        raise AssertionError("unreachable: the last try returns or raises")

    async def _try(self, queries: list[str]) -> list[list[Passage]]:
        body = {"queries": queries, "topk": self._topk, "return_scores": True}
        limit = self._aiohttp.ClientTimeout(total=self._seconds)
        try:
            # A session for each request: it belongs to one event loop, and nobody has to close it.
            async with (
                self._aiohttp.ClientSession(timeout=limit) as session,
                session.post(self.url, json=body, allow_redirects=False) as response,
            ):
                content = await _bounded(response)
        except asyncio.TimeoutError:
            raise _PassingError(f"no whole answer within {self._seconds:g} s") from None
        except (self._aiohttp.ClientError, OSError, ValueError) as error:
            raise _PassingError(f"{type(error).__name__}: {error}") from None
        if response.status in _PATIENCE or response.status >= 500:
            raise _PassingError(f"status {response.status}: {_excerpt(content)}")
        if response.status != 200:
            raise SearchError(f"{self.url}: status {response.status}: {_excerpt(content)}")
        return self._read(content, len(queries))

    def _read(self, content: bytes, count: int) -> list[list[Passage]]:
        try:
            results = json.loads(content)["result"]
            if len(results) != count:
                raise ValueError(f"{len(results)} results for {count} queries")
            return [[_entry(entry) for entry in entries][: self._topk] for entries in results]
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise SearchError(
                f"{self.url} answers {_excerpt(content)}; a list `result` with a list for each query is expected "
                f"({type(error).__name__}: {error})"
            ) from None


def _entry(entry: Any) -> Passage:
    """Read an entry: a document with its score, or, from servers that give none, the document itself."""
    if isinstance(entry, dict) and "document" in entry:
        score = entry.get("score")
        return passage(entry["document"], float(score) if isinstance(score, (int, float)) else None)
    return passage(entry)


def _give(queries: Sequence[Query], results: Sequence[list[Passage] | Exception]) -> None:
    for (_, found), result in zip(queries, results, strict=True):
        if found.done():
            continue
        if isinstance(result, Exception):
            found.set_exception(result)
        else:
            found.set_result(result)


async def _bounded(response: aiohttp.ClientResponse) -> bytes:
    content = bytearray()
    async for piece in response.content.iter_any():
        content += piece
        if len(content) > _LONGEST_ANSWER:
            raise ValueError(f"an answer of more than {_LONGEST_ANSWER} bytes")
    return bytes(content)


def _excerpt(content: bytes) -> str:
    return repr(content[:_SHOWN].decode("utf-8", "replace"))


def _library() -> Any:
    try:
        import aiohttp
    except ImportError as error:
        raise ImportError("retrieval servers are asked with aiohttp; pip install 'agentic-rl[tools]'") from error
    return aiohttp
