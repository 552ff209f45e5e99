"""Reads an answer of HTTP/1.1 from bytes as they come. A general client spends more on an answer than an agent does."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from agentic_rl.rollout.engines.http_faults import ServerFaultError

_LONGEST_HEAD = 1 << 16
_LONGEST_LINE = 1 << 12
"""Bytes of the line that begins a chunk."""


@dataclass(frozen=True)
class Answer:
    """A whole answer."""

    status: int
    headers: Mapping[bytes, bytes]
    """Names in lower case."""
    body: bytes
    reusable: bool
    """Whether the connection may carry another request."""


class AnswerReader:
    """Reads one answer, whose body has at most `limit` bytes.

    Bodies have a length, come in chunks, or end with the connection (RFC 9112, section 6.3). `on_body` gets the body of
    an answer with status 200 as it comes, in place of `Answer.body`; what it raises comes out of `feed`.
    """

    def __init__(self, limit: int, on_body: Callable[[bytes], None] | None = None) -> None:
        self._limit = limit
        self._on_body = on_body
        self._head: _Head | None = None
        self._bytes = bytearray()
        self._chunks: list[bytes] = []
        self._size = 0
        self.begun = False
        """Whether anything has come."""

    def feed(self, data: bytes) -> Answer | None:
        """Take what came; return the answer once it is whole.

        Raises:
            ServerFaultError: this is no HTTP, or more than may come.
        """
        self.begun = True
        self._bytes += data
        if self._head is None:
            self._head = self._read_head()
            if self._head is None:
                return None
        if self._head.chunked:
            return self._read_chunks(self._head)
        length = self._head.length
        if len(self._bytes) > self._limit or (length or 0) > self._limit:
            raise ServerFaultError(f"an answer of more than {self._limit} bytes; the rest is not read")
        if length is None or len(self._bytes) < length:
            return None
        return self._whole(self._head, bytes(self._bytes[:length]), rest=len(self._bytes) > length)

    def end(self) -> Answer:
        """Take the end of the connection.

        Raises:
            ServerFaultError: the answer is not whole.
        """
        if self._head is not None and self._head.length is None and not self._head.chunked:
            return self._whole(self._head, bytes(self._bytes), rest=True)
        raise ServerFaultError(
            "the connection ended within the answer" if self.begun else "the connection ended without an answer"
        )

    def _read_head(self) -> _Head | None:
        while True:
            end = self._bytes.find(b"\r\n\r\n", 0, _LONGEST_HEAD)
            if end < 0:
                if len(self._bytes) >= _LONGEST_HEAD or not b"HTTP/1.".startswith(self._bytes[:7]):
                    raise ServerFaultError(f"this is no answer of HTTP/1.1: {bytes(self._bytes[:80])!r}")
                return None
            head = _parsed(bytes(self._bytes[:end]))
            del self._bytes[: end + 4]
            if head.status >= 200:
                return head  # those below only announce it

    def _read_chunks(self, head: _Head) -> Answer | None:
        while True:
            end = self._bytes.find(b"\r\n", 0, _LONGEST_LINE)
            if end < 0:
                if len(self._bytes) >= _LONGEST_LINE:
                    raise ServerFaultError("a chunk of the answer begins with no size")
                return None
            size = _hexadecimal(bytes(self._bytes[:end]).partition(b";")[0].strip())
            if self._size + size > self._limit:
                raise ServerFaultError(f"an answer of more than {self._limit} bytes; the rest is not read")
            if size == 0:
                return self._after_chunks(head, end)
            if len(self._bytes) < end + 2 + size + 2:
                return None
            if self._bytes[end + 2 + size : end + 4 + size] != b"\r\n":
                raise ServerFaultError("a chunk of the answer is longer than its size")
            chunk = bytes(self._bytes[end + 2 : end + 2 + size])
            self._size += size
            del self._bytes[: end + 4 + size]
            if self._on_body is not None and head.status == 200:
                self._on_body(chunk)
            else:
                self._chunks.append(chunk)

    def _after_chunks(self, head: _Head, end: int) -> Answer | None:
        """Read what follows the last chunk: nothing, or further headers, which say nothing that matters here."""
        if self._bytes[end : end + 4] == b"\r\n\r\n":
            stop = end + 4
        else:
            stop = self._bytes.find(b"\r\n\r\n", end) + 4
            if stop < 4:
                if len(self._bytes) > _LONGEST_HEAD:
                    raise ServerFaultError("the answer has no end")
                return None
        return self._whole(head, b"".join(self._chunks), rest=len(self._bytes) > stop)

    def _whole(self, head: _Head, body: bytes, *, rest: bool) -> Answer:
        if self._on_body is not None and head.status == 200 and body:
            self._on_body(body)
            body = b""
        return Answer(head.status, head.headers, body, head.keep_alive and not rest)


@dataclass(frozen=True)
class _Head:
    status: int
    headers: Mapping[bytes, bytes]
    length: int | None
    chunked: bool
    keep_alive: bool


def _parsed(head: bytes) -> _Head:
    first, *lines = head.split(b"\r\n")
    version, _, rest = first.partition(b" ")
    status = rest[:3]
    if version not in (b"HTTP/1.1", b"HTTP/1.0") or not (len(status) == 3 and status.isdigit() and status >= b"100"):
        raise ServerFaultError(f"this is no answer of HTTP/1.1: {first[:80]!r}")
    headers: dict[bytes, bytes] = {}
    for line in lines:
        name, colon, value = line.partition(b":")
        if not colon or not name or name != name.strip():
            raise ServerFaultError(f"this is no header of an answer: {line[:80]!r}")
        name, value = name.lower(), value.strip()
        if name == b"content-length" and headers.get(name, value) != value:
            raise ServerFaultError("the answer has two lengths")
        headers[name] = value
    coding = headers.get(b"content-encoding", b"identity").lower()
    transfer = headers.get(b"transfer-encoding", b"").lower()
    if coding != b"identity" or transfer not in (b"", b"identity", b"chunked"):
        raise ServerFaultError(f"the answer is packed ({(coding + b' ' + transfer).decode('latin-1')}), unasked")
    number = int(status)
    length = None if transfer == b"chunked" else _length(headers, number)
    keep = version == b"HTTP/1.1" and b"close" not in headers.get(b"connection", b"").lower()
    return _Head(number, headers, length, transfer == b"chunked", keep)


def _length(headers: Mapping[bytes, bytes], status: int) -> int | None:
    if status in (204, 304):
        return 0
    text = headers.get(b"content-length")
    if text is None:
        return None
    if not text.isdigit() or len(text) > 18:
        raise ServerFaultError(f"the answer's Content-Length is {text[:40]!r}")
    return int(text)


def _hexadecimal(text: bytes) -> int:
    if not 0 < len(text) <= 15 or text.strip(b"0123456789abcdefABCDEF"):
        raise ServerFaultError(f"a chunk of the answer begins with {text[:40]!r} in place of its size")
    return int(text, 16)
