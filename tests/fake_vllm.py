"""A server with the faces of vLLM's that rollouts use, quick enough for benchmarks and as faulty as a test wants.

In a test: `async with FakeServer() as server: ... server.url`. As a program of its own, for benchmarks:
`python tests/fake_vllm.py --latency 0.05 --call 5,6,7 --answer 8,9 --faults 0.05` prints its port.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import re
from collections.abc import Callable
from typing import Any

Plan = Callable[[int, bytes], str]
"""What becomes of the n-th request (from 0) with this body: "" or the name of a fault."""
FAULTS = ("500", "429", "reset", "hang", "half", "garbage", "other ids")
MODEL = "policy"


class FakeServer:
    """Answers `/v1/completions` and `/v1/chat/completions` with prepared tokens, in turns.

    A prompt that holds the tokens of `call` twice gets `answer`, any other one gets `call`.
    """

    def __init__(
        self,
        *,
        call: tuple[int, ...] = (5, 6, 7),
        answer: tuple[int, ...] = (8, 9),
        latency: float = 0.0,
        plan: Plan | None = None,
        logprob: float = -0.5,
        max_model_len: int | None = 4096,
        token_ids: bool = True,
        hands_over: bool = False,
        api_key: str = "",
        port: int = 0,
        message: dict[str, Any] | None = None,
    ) -> None:
        self.latency = latency
        self.plan = plan
        self.requests: list[bytes] = []
        self.heads: list[bytes] = []
        self.keep_requests = True
        self.silent = False
        """Takes requests and answers none."""
        self.asked = 0
        self.connections: set[_Connection] = set()
        self.max_model_len = max_model_len
        self.api_key = api_key
        self._hands_over = hands_over
        self.port = port
        self._pattern = ",".join(map(str, call)).encode()
        self._replies, self._logprob, self._token_ids = (call, answer), logprob, token_ids
        self._completions = [completion(reply, logprob, token_ids=token_ids) for reply in (call, answer)]
        self._chats = [chat(call, logprob, message or TOOL_CALL), chat(answer, logprob, ANSWER)]
        self._server: asyncio.Server | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def start(self) -> None:
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(lambda: _Connection(self), "127.0.0.1", self.port, backlog=8192)
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        """Die: nothing listens any more, and every connection is reset."""
        if self._server is not None:
            self._server.close()
            self._server = None
        for connection in list(self.connections):
            connection.transport.abort()
        await asyncio.sleep(0)

    async def __aenter__(self) -> FakeServer:
        await self.start()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.stop()

    def respond(self, path: bytes, body: bytes) -> bytes:
        if path == b"/v1/models":
            card = {"id": MODEL, "object": "model", "max_model_len": self.max_model_len}
            return answer_of(200, json.dumps({"object": "list", "data": [card]}).encode())
        if path == b"/v1/chat/completions":
            return answer_of(200, self._chats[body.count(b'"role":"tool"') + body.count(b'"role": "tool"') >= 2])
        if path != b"/v1/completions":
            return answer_of(404, b"{}")
        start = body.index(b'"prompt":') + 9
        prompt = body[body.index(b"[", start) : body.index(b"]", start) + 1].replace(b" ", b"")
        which = prompt.count(self._pattern) >= 2
        head, tail = self._completions[which]
        budget = int(re.search(rb'"max_tokens": ?(\d+)', body)[1])  # type: ignore[index]
        if budget < len(self._replies[which]):
            head, tail = completion(self._replies[which][:budget], self._logprob, token_ids=self._token_ids)
        if self._hands_over and b'"do_remote_decode":true' in body:
            tail = tail[:-1] + b',"kv_transfer_params":{"remote_engine_id":"here"}}'
        return answer_of(200, b"".join((head, prompt, tail)))


class _Connection(asyncio.Protocol):
    """HTTP/1.1 as far as it is needed: bodies with a length, one request at a time."""

    transport: asyncio.Transport

    def __init__(self, server: FakeServer) -> None:
        self._server = server
        self._received = b""
        self._loop = asyncio.get_running_loop()

    def connection_made(self, transport: Any) -> None:
        self.transport = transport
        self._server.connections.add(self)

    def connection_lost(self, error: Exception | None) -> None:
        self._server.connections.discard(self)

    def data_received(self, data: bytes) -> None:
        self._received += data
        end = self._received.find(b"\r\n\r\n")
        if end < 0:
            return
        head = self._received[:end]
        place = head.lower().find(b"content-length:")
        length = int(head[place + 15 :].split(b"\r\n", 1)[0]) if place >= 0 else 0
        if len(self._received) < end + 4 + length:
            return
        body = self._received[end + 4 : end + 4 + length]
        self._received = self._received[end + 4 + length :]
        self._handle(head, head.split(b" ", 2)[1], body)

    def _handle(self, head: bytes, path: bytes, body: bytes) -> None:
        server = self._server
        if server.silent:
            return
        if server.api_key and f"bearer {server.api_key}".encode() not in head.lower():
            self._write(answer_of(401, b'{"error":"Unauthorized"}'))
            return
        if path not in (b"/v1/completions", b"/v1/chat/completions"):
            self._write(server.respond(path, body))
            return
        number, server.asked = server.asked, server.asked + 1
        if server.keep_requests:
            server.requests.append(body)
            server.heads.append(head)
        fault = server.plan(number, body) if server.plan is not None else ""
        reply = server.respond(path, body)
        if b'"stream":true' in body and path == b"/v1/completions":
            fault, reply = as_stream(fault, reply)
        if server.latency:
            self._loop.call_later(server.latency, self._finish, fault, reply)
        else:
            self._finish(fault, reply)

    def _finish(self, fault: str, reply: bytes) -> None:
        if fault == "":
            self._write(reply)
        elif fault == "reset":
            self.transport.abort()
        elif fault == "half":
            self._write(reply[: len(reply) * 2 // 3])
            self.transport.close()
        elif fault == "not http":
            self._write(b"\x00\x01 what is this?\r\n\r\n")
        elif fault == "endless":
            self._write(b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n" + b" " * (4 << 20))
        elif fault.isdigit():
            self._write(answer_of(int(fault), b'{"error":{"message":"injected"}}', b"Retry-After: 0.02\r\n"))
        elif fault != "hang":
            self._write(answer_of(200, wrong(fault, reply.partition(b"\r\n\r\n")[2])))

    def _write(self, data: bytes) -> None:
        if not self.transport.is_closing():
            self.transport.write(data)


def answer_of(status: int, body: bytes, more: bytes = b"") -> bytes:
    head = b"HTTP/1.1 %d X\r\nContent-Type: application/json\r\nContent-Length: %d\r\n%s\r\n" % (
        status,
        len(body),
        more,
    )
    return head + body


def as_stream(fault: str, reply: bytes) -> tuple[str, bytes]:
    """An answer as vLLM streams it, and the fault that is left to be made of it."""
    if fault in ("", "half"):
        return fault, streamed(reply.partition(b"\r\n\r\n")[2])
    if fault.startswith("{") or fault in ("garbage", "other ids"):
        return "", streamed(wrong(fault, reply.partition(b"\r\n\r\n")[2]))
    return fault, reply


def streamed(body: bytes) -> bytes:
    """A chunk for each token, the prompt's ids in the first, the reason in the last."""
    events = [body.decode()] if body.startswith(b"<") else [json.dumps(event) for event in events_of(json.loads(body))]
    chunks = [f"data: {event}\n\n".encode() for event in [*events, "[DONE]"]]
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
    return head + b"".join(b"%x\r\n%s\r\n" % (len(chunk), chunk) for chunk in [*chunks, b""])


def events_of(whole: dict[str, Any]) -> list[dict[str, Any]]:
    choice = whole["choices"][0]
    tokens, logprobs = choice["token_ids"] or [], choice["logprobs"]["token_logprobs"]
    events = []
    for place, (token, logprob) in enumerate(zip(tokens, logprobs, strict=False)):
        last = place == len(tokens) - 1
        one = {"index": 0, "text": f"t{token}", "token_ids": [token], "logprobs": {"token_logprobs": [logprob]}}
        one["finish_reason"] = choice["finish_reason"] if last else None
        if place == 0:
            one["prompt_token_ids"] = choice["prompt_token_ids"]
        events.append({"id": "cmpl-1", "choices": [one]})
    return events


def wrong(fault: str, body: bytes) -> bytes:
    """A whole answer of a broken server; `fault` may also be a JSON object to merge into the choice."""
    if fault == "garbage":
        return b"<html>503</html>"
    if fault == "deep":
        return b"[" * 200_000
    answer = json.loads(body)
    choice = answer["choices"][0]
    if fault == "other ids":
        choice["prompt_token_ids"] = [*choice["prompt_token_ids"][:-1], 0]
    else:
        choice.update(json.loads(fault))
    return json.dumps(answer).encode()


def completion(tokens: tuple[int, ...], logprob: float, *, token_ids: bool) -> tuple[bytes, bytes]:
    """The answer of vLLM 0.28, before and after the ids of the prompt."""
    words = [f"t{token}" for token in tokens]
    logprobs = {
        "text_offset": [2 * place for place in range(len(tokens))],
        "token_logprobs": [logprob - place * 0.125 for place in range(len(tokens))] if logprob else [0.0] * len(tokens),
        "tokens": words,
        "top_logprobs": [{word: logprob} for word in words],
    }
    choice = {
        "index": 0,
        "text": "".join(words),
        "logprobs": logprobs,
        "finish_reason": "stop",
        "stop_reason": None,
        "token_ids": list(tokens) if token_ids else None,
        "prompt_logprobs": None,
        "prompt_token_ids": "HERE",
    }
    usage = {"prompt_tokens": 100, "total_tokens": 100 + len(tokens), "completion_tokens": len(tokens)}
    whole = {"id": "cmpl-1", "object": "text_completion", "created": 1, "model": MODEL, "choices": [choice]}
    head, _, tail = json.dumps({**whole, "usage": usage}, separators=(",", ":")).partition('"HERE"')
    return head.encode(), tail.encode()


TOOL_CALL: dict[str, Any] = {
    "role": "assistant",
    "content": "",
    "tool_calls": [
        {"id": "call_0", "type": "function", "function": {"name": "calculator", "arguments": '{"expression": "12*7"}'}}
    ],
}
ANSWER: dict[str, Any] = {"role": "assistant", "content": r"\boxed{84}"}


def chat(tokens: tuple[int, ...], logprob: float, message: dict[str, Any]) -> bytes:
    """A chat completion with log-probabilities and token ids."""
    content = [
        {"token": f"token_id:{token}", "logprob": logprob, "bytes": [32], "top_logprobs": []} for token in tokens
    ]
    choice = {
        "index": 0,
        "message": message,
        "logprobs": {"content": content},
        "finish_reason": "tool_calls" if message.get("tool_calls") else "stop",
        "token_ids": list(tokens),
    }
    usage = {"prompt_tokens": 100, "total_tokens": 100 + len(tokens), "completion_tokens": len(tokens)}
    whole = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": MODEL, "choices": [choice]}
    return json.dumps({**whole, "usage": usage, "prompt_token_ids": list(range(100))}, separators=(",", ":")).encode()


def _ids(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split(",")))


async def _serve(options: argparse.Namespace) -> None:
    dice = random.Random(0)

    def plan(number: int, body: bytes) -> str:
        return dice.choice(FAULTS) if dice.random() < options.faults else ""

    server = FakeServer(
        call=options.call, answer=options.answer, latency=options.latency, plan=plan if options.faults else None
    )
    server.keep_requests = False
    await server.start()
    print(server.port, flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--latency", type=float, default=0.0)
    parser.add_argument("--call", type=_ids, default=(5, 6, 7))
    parser.add_argument("--answer", type=_ids, default=(8, 9))
    parser.add_argument("--faults", type=float, default=0.0)
    asyncio.run(_serve(parser.parse_args()))
