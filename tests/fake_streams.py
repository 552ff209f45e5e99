"""A model server that sends one event after the other, for tests and benchmarks of what stands before it.

As a program it prints its port: `python tests/fake_streams.py --interval 0.1 --tokens 600`. Each event holds the time
at which it was sent (`time.monotonic`, which is the same for all processes of a machine).
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from typing import Any

MODEL = "policy"
_EVENT = b'data: {"n": %d, "at": %.6f, "choices": [{"index": 0, "delta": {"content": "x"}}]}\n\n'


class StreamServer:
    """Answers chats and completions with `tokens` events, one every `interval` seconds; whole where none are asked.

    A body with `"fault"` asks for one: `break` (in the middle of a stream), `hang`, or a status.
    """

    def __init__(self, *, interval: float = 0.0, tokens: int = 3, port: int = 0) -> None:
        self.interval, self.tokens, self.port = interval, tokens, port
        self.bodies: list[dict[str, Any]] = []
        self.heads: list[str] = []
        self.open = 0
        """Requests that are being answered."""
        self._server: asyncio.Server | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def __aenter__(self) -> StreamServer:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port, backlog=2048)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *error: object) -> None:
        assert self._server is not None
        self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await self._answer(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        length = next((line for line in head.lower().split("\r\n") if line.startswith("content-length:")), ":0")
        content = await reader.readexactly(int(length.split(":")[1]))
        if head.startswith("GET"):
            return await _send(writer, 200, {"object": "list", "data": [{"id": MODEL, "max_model_len": 4096}]})
        body = json.loads(content)
        self.bodies.append(body)
        self.heads.append(head)
        self.open += 1
        try:
            return await self._completed(body, reader, writer)
        finally:
            self.open -= 1

    async def _completed(
        self, body: dict[str, Any], reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> bool:
        fault = body.get("fault")
        if isinstance(fault, int):
            return await _send(writer, fault, {"error": {"message": "injected"}})
        if fault == "hang":
            await reader.read(1)  # until the client goes
            return False
        if not body.get("stream"):
            return await _send(writer, 200, {"model": body["model"], "choices": [{"text": "Hi"}]})
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
        for number in range(self.tokens):
            await asyncio.sleep(self.interval)
            if fault == "break" and number == 1:
                return False
            if writer.is_closing():
                return False
            writer.write(_chunk(_EVENT % (number, time.monotonic())))
        writer.write(_chunk(b"data: [DONE]\n\n") + b"0\r\n\r\n")
        await writer.drain()
        return True


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


async def _send(writer: asyncio.StreamWriter, status: int, body: dict[str, Any]) -> bool:
    content = json.dumps(body).encode()
    head = f"HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n"
    writer.write(head.encode() + content)
    await writer.drain()
    return True


async def _main(options: argparse.Namespace) -> None:
    async with StreamServer(interval=options.interval, tokens=options.tokens) as server:
        print(server.port, flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--interval", type=float, default=0.1)
    parser.add_argument("--tokens", type=int, default=600)
    asyncio.run(_main(parser.parse_args()))
