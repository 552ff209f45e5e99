"""Answers of HTTP/1.1 in pieces of any size, and bytes that are none."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentic_rl.rollout.engines.http_faults import ServerFaultError
from agentic_rl.rollout.engines.http_reader import Answer, AnswerReader

BODIES = st.binary(max_size=300)
PIECES = st.lists(st.integers(1, 40), max_size=60)


def in_pieces(data: bytes, sizes: list[int]) -> list[bytes]:
    pieces = []
    for size in sizes:
        pieces.append(data[:size])
        data = data[size:]
    return [piece for piece in [*pieces, data] if piece]


def read(data: bytes, sizes: list[int], *, ends: bool = False) -> Answer | None:
    """Feed the pieces until the answer is whole, as a connection does."""
    reader = AnswerReader(1000)
    for piece in in_pieces(data, sizes):
        answer = reader.feed(piece)
        if answer is not None:
            return answer
    return reader.end() if ends else None


def chunked(body: bytes, size: int, trailer: bytes) -> bytes:
    chunks = [body[place : place + size] for place in range(0, len(body), size)]
    return b"".join(b"%X;note=1\r\n%b\r\n" % (len(one), one) for one in chunks) + b"0\r\n" + trailer + b"\r\n"


@given(BODIES, PIECES, st.sampled_from([b"", b"HTTP/1.1 100 Continue\r\n\r\n"]))
def test_a_body_with_a_length(body: bytes, sizes: list[int], before: bytes) -> None:
    data = before + b"HTTP/1.1 200 OK\r\nX: 1\r\nContent-LENGTH:  %d \r\n\r\n" % len(body) + body
    answer = read(data, sizes)
    assert answer == Answer(200, {b"x": b"1", b"content-length": b"%d" % len(body)}, body, reusable=True)


@given(BODIES, PIECES, st.integers(1, 50), st.sampled_from([b"", b"A: b\r\nC: d\r\n"]))
def test_a_body_in_chunks(body: bytes, sizes: list[int], size: int, trailer: bytes) -> None:
    data = b"HTTP/1.1 503 No\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n" + chunked(body, size, trailer)
    answer = read(data, sizes)
    assert answer is not None
    assert (answer.status, answer.body, answer.reusable) == (503, body, False)


@given(BODIES, PIECES)
def test_a_body_that_ends_with_the_connection(body: bytes, sizes: list[int]) -> None:
    answer = read(b"HTTP/1.0 200 OK\r\n\r\n" + body, sizes, ends=True)
    assert answer == Answer(200, {}, body, reusable=False)


@given(BODIES, st.integers(0, 400), st.booleans())
def test_half_an_answer_is_none(body: bytes, kept: int, in_chunks: bool) -> None:
    if in_chunks:
        whole = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunked(body, 30, b"")
    else:
        whole = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body
    reader = AnswerReader(1000)
    half = whole[: min(kept, len(whole) - 1)]
    assert not half or reader.feed(half) is None
    with pytest.raises(ServerFaultError, match="the connection ended"):
        reader.end()


@given(st.binary(max_size=200), PIECES, st.booleans())
def test_any_bytes_are_an_answer_or_a_fault(data: bytes, sizes: list[int], begun: bool) -> None:
    try:
        answer = read(b"HTTP/1.1 200 OK\r\n" * begun + data, sizes, ends=True)
    except ServerFaultError:
        return
    assert isinstance(answer, Answer)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"SSH-2.0-OpenSSH_9\r\n", "no answer of HTTP"),
        (b"HTTP/2 200\r\n\r\n", "no answer of HTTP"),
        (b"HTTP/1.1 20 OK\r\n\r\n", "no answer of HTTP"),
        (b"HTTP/1.1 200 OK\r\nX" + b"x" * 70_000, "no answer of HTTP"),
        (b"HTTP/1.1 200 OK\r\nno colon\r\n\r\n", "no header"),
        (b"HTTP/1.1 200 OK\r\nContent-Length : 3\r\n\r\nabc", "no header"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: -3\r\n\r\nabc", "Content-Length is b'-3'"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabc", "two lengths"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n", "more than 1000 bytes"),
        (b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * 1001, "more than 1000 bytes"),
        (b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n", "packed"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", "packed"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nFFF\r\n", "more than 1000 bytes"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n", "in place of its size"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\r\n", "in place of its size"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nabcd\r\n", "longer than its size"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + b"1" * 5000, "begins with no size"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n" + b"x" * 70_000, "no end"),
    ],
)
def test_what_is_wrong_is_said(data: bytes, message: str) -> None:
    with pytest.raises(ServerFaultError, match=message):
        AnswerReader(1000).feed(data)


def test_a_connection_that_sends_more_than_its_answer_is_not_used_again() -> None:
    answer = AnswerReader(1000).feed(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nabHTTP/1.1 200 OK\r\n")
    assert answer is not None
    assert (answer.body, answer.reusable) == (b"ab", False)
