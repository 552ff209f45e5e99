"""The policy's weights on their way from the trainer to inference servers on other devices and other machines.

One sender, any number of receivers, each of which gets every tensor. They talk over TCP at the address of the sender's
node, in parts of bounded size: the sender waits until all receivers have asked for the next part, so at most one is on
its way. Needs pyzmq and torch, not verl.
"""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import time
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from agentic_rl.backends.errors import WeightTransferError
from agentic_rl.backends.verl.inside.weight_transfer import DEFAULT_LIMIT, LIMIT

_NEXT, _TAKEN = b"next", b"taken"
"""What a receiver says: it wants the next part; it has every one."""
_POLL_SECONDS = 0.002
"""Between two looks at a socket; the loop of the process runs meanwhile."""

Named = tuple[str, torch.Tensor]


@dataclass(frozen=True)
class Meeting:
    """Where a sender waits, and what a receiver has to say there."""

    address: str
    """Of ZeroMQ."""
    token: str
    """Whoever does not know it gets no weights."""


def parts(weights: Iterable[Named], size: int) -> Iterator[list[Named]]:
    """Tensors in their order, together at most `size` bytes; a larger one is alone."""
    part: list[Named] = []
    used = 0
    for name, tensor in weights:
        if part and used + tensor.nbytes > size:
            yield part
            part, used = [], 0
        part.append((name, tensor))
        used += tensor.nbytes
    if part:
        yield part


class Sender:
    """Binds at once; receivers may come later.

    Args:
        host: the address of this node at which to listen.
        size: bytes of one part.
    """

    def __init__(self, host: str, size: int) -> None:
        import zmq

        self._size = size
        self._socket = zmq.Context.instance().socket(zmq.ROUTER)
        self._socket.setsockopt(zmq.IPV6, ":" in host)
        port = self._socket.bind_to_random_port(f"tcp://{_in_brackets(host)}")
        self.meeting = Meeting(f"tcp://{_in_brackets(host)}:{port}", secrets.token_hex(16))

    async def send(self, weights: Iterable[Named], version: int | None, receivers: int) -> int:
        """Give every tensor to each of `receivers`; return the bytes of one copy.

        Raises:
            WeightTransferError: not all receivers asked for a part, or had the last, within the limit.
        """
        total = 0
        for part in parts(weights, self._size):
            frames = [_bytes_of(tensor) for _, tensor in part]
            await self._give(_header(part, version), frames, receivers)
            total += sum(tensor.nbytes for _, tensor in part)
        await self._give(_header([], version), [], receivers)
        await self._all_said(_TAKEN, receivers)
        return total

    async def _give(self, header: bytes, frames: Sequence[Any], receivers: int) -> None:
        for name in await self._all_said(_NEXT, receivers):
            self._socket.send_multipart([name, header, *frames], copy=False)

    async def _all_said(self, word: bytes, receivers: int) -> list[bytes]:
        limit = _limit()
        said: set[bytes] = set()
        while len(said) < receivers:
            if not await _arrived(self._socket, limit):
                raise WeightTransferError(
                    f"{len(said)} of {receivers} inference workers took the weights within {limit:g} s", _HINT
                )
            name, *message = self._socket.recv_multipart()
            if message == [self.meeting.token.encode(), word]:
                said.add(name)
        return sorted(said)

    def close(self) -> None:
        """Stop listening."""
        self._socket.close(linger=0)


class Receiver:
    """Takes what the sender at `meeting` gives."""

    def __init__(self, meeting: Meeting) -> None:
        import zmq

        self._meeting = meeting
        self._socket = zmq.Context.instance().socket(zmq.DEALER)
        self._socket.setsockopt(zmq.IPV6, 1)
        self._socket.connect(meeting.address)

    async def receive(self, version: int | None) -> AsyncIterator[Named]:
        """Every tensor, in the sender's order.

        Raises:
            WeightTransferError: the sender was not there in time, or has weights of another version.
        """
        while True:
            header, frames = await self._next()
            if header["version"] != version:
                message = f"the trainer sent the weights of step {header['version']}, not those of step {version}"
                raise WeightTransferError(message, "start the run again: it goes on from its last checkpoint")
            if not header["tensors"]:
                break
            for one, frame in zip(header["tensors"], frames, strict=True):
                yield one["name"], _tensor(frame, one["dtype"], one["shape"])
        self._say(_TAKEN)

    async def _next(self) -> tuple[dict[str, Any], list[Any]]:
        self._say(_NEXT)
        limit = _limit()
        if not await _arrived(self._socket, limit):
            message = f"the trainer at {self._meeting.address} sent no weights within {limit:g} s"
            raise WeightTransferError(message, _HINT)
        header, *frames = self._socket.recv_multipart(copy=False)
        return json.loads(header.bytes), frames

    def _say(self, word: bytes) -> None:
        self._socket.send_multipart([self._meeting.token.encode(), word])

    def close(self, linger_milliseconds: int = 2000) -> None:
        """Leave, once the last word is on its way."""
        self._socket.close(linger=linger_milliseconds)


_HINT = f"the logs of the workers have the cause; {LIMIT} sets the limit in seconds"


async def _arrived(socket: Any, limit: float) -> bool:
    deadline = time.monotonic() + limit
    while not socket.poll(0):
        if time.monotonic() > deadline:
            return False
        await asyncio.sleep(_POLL_SECONDS)
    return True


def _limit() -> float:
    return float(os.environ.get(LIMIT, DEFAULT_LIMIT))


def _header(part: Sequence[Named], version: int | None) -> bytes:
    tensors = [
        {"name": name, "dtype": str(tensor.dtype).removeprefix("torch."), "shape": list(tensor.shape)}
        for name, tensor in part
    ]
    return json.dumps({"version": version, "tensors": tensors}).encode()


def _bytes_of(tensor: torch.Tensor) -> Any:
    flat = tensor.detach().cpu().contiguous().reshape(-1)
    return flat.view(torch.uint8).numpy() if flat.numel() else b""


def _tensor(frame: Any, dtype: str, shape: Sequence[int]) -> torch.Tensor:
    kind: torch.dtype = getattr(torch, dtype)
    if not len(frame.buffer):
        return torch.empty(list(shape), dtype=kind)
    # A copy: torch takes memory that it may write to, and the frame's is ZeroMQ's own.
    return torch.frombuffer(bytearray(frame.buffer), dtype=kind).reshape(list(shape))


def _in_brackets(host: str) -> str:
    return f"[{host}]" if ":" in host else host
