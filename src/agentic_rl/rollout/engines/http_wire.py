"""One pool of connections to all servers; what it gives back is bytes or an error that says what to do."""

from __future__ import annotations

import asyncio
from typing import Any

from agentic_rl.rollout.engines.http_faults import ServerFaultError, refusal

try:
    import aiohttp
    from yarl import URL
except ImportError as error:
    raise ImportError("servers are called with aiohttp; install it: pip install 'agentic-rl[http]'") from error

_IDLE_SECONDS = 4.0
"""Servers of vLLM close a connection after 5 s without a request; a pooled one must not be older."""
_CONNECT_SECONDS = 10.0


class ServerGoneError(ServerFaultError):
    """Nothing accepts connections at the address."""


class Wire:
    """An aiohttp session without what costs time here: cookies, proxies, compression.

    Args:
        connections: how many may be open at once; further requests wait for one.
        seconds: how long one try may take, from its start to the last byte of its answer.
        api_key: sent as bearer token; None: none.
    """

    def __init__(self, connections: int, seconds: float, api_key: str | None) -> None:
        self._seconds = seconds
        self._urls: dict[str, URL] = {}
        self._headers = {"Content-Type": "application/json", "Accept-Encoding": "identity"}
        if api_key is not None:
            self._headers["Authorization"] = f"Bearer {api_key}"
        self._timeout = aiohttp.ClientTimeout(total=seconds, sock_connect=_CONNECT_SECONDS)
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=connections, keepalive_timeout=_IDLE_SECONDS),
            cookie_jar=aiohttp.DummyCookieJar(),
            headers=self._headers,
            skip_auto_headers=("User-Agent", "Accept"),
            timeout=self._timeout,
            auto_decompress=False,
        )

    async def post(self, url: str, body: bytes, limit: int, headers: dict[str, str] | None = None) -> bytes:
        """Send a body, return the whole answer of at most `limit` bytes.

        Raises:
            ServerFaultError: it failed, but may work another time.
            ServerRefusedError: the server answered that the request is wrong.
        """
        return await self._ask("POST", url, limit, data=body, headers=headers)

    async def get(self, url: str, limit: int, seconds: float) -> bytes:
        """Fetch a small answer within some seconds; raises as `post` does."""
        return await self._ask("GET", url, limit, timeout=aiohttp.ClientTimeout(total=seconds))

    async def close(self) -> None:
        """Close all connections."""
        await self._session.close()

    async def _ask(self, method: str, url: str, limit: int, **more: Any) -> bytes:
        address = self._urls.get(url)
        if address is None:
            address = self._urls[url] = URL(url)
        try:
            async with self._session.request(method, address, allow_redirects=False, **more) as response:
                body = await _bounded(response, limit)
        except asyncio.TimeoutError:
            seconds = more["timeout"].total if "timeout" in more else self._seconds
            raise ServerFaultError(f"{url} gave no whole answer within {seconds:g} s") from None
        except aiohttp.ClientConnectorError as error:
            raise ServerGoneError(f"{url}: {error}") from None
        except (aiohttp.ClientError, OSError, ValueError) as error:  # ValueError: garbage where a header should be
            raise ServerFaultError(f"{url}: {type(error).__name__}: {error}") from None
        if response.status != 200:
            raise refusal(url, response.status, response.headers, body)
        return body


async def _bounded(response: aiohttp.ClientResponse, limit: int) -> bytes:
    length = response.content_length
    if length is not None and length <= limit:
        return await response.read()
    pieces, size = [], 0
    async for piece in response.content.iter_any():
        size += len(piece)
        if size > limit:
            response.close()
            raise ServerFaultError(f"{response.url} answers with more than {limit} bytes; the rest is not read")
        pieces.append(piece)
    return b"".join(pieces)
