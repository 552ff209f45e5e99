from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence

import pytest

from agentic_rl.backends.errors import WeightTransferError
from agentic_rl.backends.verl.inside.weight_transfer import LIMIT

torch = pytest.importorskip("torch")
zmq = pytest.importorskip("zmq")

from agentic_rl.backends.verl.inside.weight_stream import (  # noqa: E402 - needs torch
    Meeting,
    Named,
    Receiver,
    Sender,
    parts,
)

HOST = "127.0.0.1"
WEIGHTS: list[Named] = [
    ("embedding", torch.arange(12, dtype=torch.float32).reshape(3, 4)),
    ("half", torch.tensor([1.5, -2.0, float("inf")], dtype=torch.bfloat16)),
    ("scalar", torch.tensor(7, dtype=torch.int64)),
    ("nothing", torch.empty(0, 5, dtype=torch.float16)),
    ("across", torch.arange(6, dtype=torch.float32).reshape(2, 3).T),
    ("large", torch.ones(1000, dtype=torch.float32)),
    ("flags", torch.tensor([True, False])),
]


async def taken(receiver: Receiver, version: int | None = 3) -> list[Named]:
    return [named async for named in receiver.receive(version)]


def same(one: Sequence[Named], other: Sequence[Named]) -> bool:
    return [name for name, _ in one] == [name for name, _ in other] and all(
        a.dtype == b.dtype and a.shape == b.shape and torch.equal(a, b)
        for (_, a), (_, b) in zip(one, other, strict=True)
    )


@pytest.mark.parametrize("size", [1, 60, 1 << 20])
def test_every_receiver_gets_every_tensor(size: int) -> None:
    async def both() -> None:
        sender = Sender(HOST, size)
        receivers = [Receiver(sender.meeting) for _ in range(3)]
        total, *copies = await asyncio.gather(sender.send(iter(WEIGHTS), 3, 3), *map(taken, receivers))
        assert total == sum(tensor.nbytes for _, tensor in WEIGHTS)
        assert all(same(copy, WEIGHTS) for copy in copies)
        for side in (sender, *receivers):
            side.close()

    asyncio.run(both())


def test_what_was_received_can_be_changed() -> None:
    async def both() -> None:
        sender = Sender(HOST, 100)
        receiver = Receiver(sender.meeting)
        _, copy = await asyncio.gather(sender.send(WEIGHTS[:1], 3, 1), taken(receiver))
        copy[0][1].add_(1)
        assert WEIGHTS[0][1][0, 0] == 0
        sender.close()
        receiver.close()

    asyncio.run(both())


def test_parts_are_bounded_and_keep_the_order() -> None:
    made = list(parts(WEIGHTS, 60))
    assert [name for part in made for name, _ in part] == [name for name, _ in WEIGHTS]
    assert [[name for name, _ in part] for part in made] == [
        ["embedding", "half"],
        ["scalar", "nothing", "across"],
        ["large"],
        ["flags"],
    ]
    assert list(parts([], 60)) == []


def test_a_receiver_that_stays_away_ends_the_transfer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(LIMIT, "0.2")

    async def alone() -> None:
        sender = Sender(HOST, 100)
        receiver = Receiver(sender.meeting)
        both = asyncio.gather(sender.send(WEIGHTS, 3, 2), taken(receiver), return_exceptions=True)
        sent, received = await both
        assert isinstance(sent, WeightTransferError)
        assert "1 of 2 inference workers took the weights within 0.2 s" in str(sent)
        assert isinstance(received, WeightTransferError)
        assert f"the trainer at {sender.meeting.address} sent no weights within 0.2 s" in str(received)
        sender.close()
        receiver.close()

    asyncio.run(alone())


def test_a_receiver_that_does_not_go_on_ends_the_transfer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(LIMIT, "0.2")

    async def stops() -> None:
        sender = Sender(HOST, 1)
        receiver = Receiver(sender.meeting)

        async def first() -> str:
            async for name, _ in receiver.receive(3):
                return name
            raise AssertionError("nothing came")

        sent, name = await asyncio.gather(sender.send(WEIGHTS, 3, 1), first(), return_exceptions=True)
        assert name == "embedding"
        assert isinstance(sent, WeightTransferError)
        sender.close()
        receiver.close()

    asyncio.run(stops())


def test_weights_of_another_step_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(LIMIT, "0.2")

    async def differ() -> None:
        sender = Sender(HOST, 1 << 20)
        receiver = Receiver(sender.meeting)
        _, refused = await asyncio.gather(sender.send(WEIGHTS, 3, 1), taken(receiver, 4), return_exceptions=True)
        assert isinstance(refused, WeightTransferError)
        assert "sent the weights of step 3, not those of step 4" in str(refused)
        sender.close()
        receiver.close()

    asyncio.run(differ())


def test_strangers_get_nothing() -> None:
    async def with_strangers() -> None:
        sender = Sender(HOST, 1 << 20)
        guessing = Receiver(Meeting(sender.meeting.address, "0" * 32))
        nonsense = zmq.Context.instance().socket(zmq.DEALER)
        nonsense.connect(sender.meeting.address)
        for message in ([b""], [json.dumps({"token": 1}).encode()], [b"next"], [b"", b"next", b"", b""]):
            nonsense.send_multipart(message)
        stranger = asyncio.ensure_future(taken(guessing))
        await asyncio.sleep(0.05)
        receiver = Receiver(sender.meeting)
        _, copy = await asyncio.gather(sender.send(WEIGHTS, 3, 1), taken(receiver))
        assert same(copy, WEIGHTS)
        assert not stranger.done()
        stranger.cancel()
        assert nonsense.poll(0) == 0
        for side in (sender, receiver, guessing):
            side.close()
        nonsense.close(linger=0)

    asyncio.run(with_strangers())


def test_an_address_of_version_6() -> None:
    async def both() -> None:
        sender = Sender("::1", 1 << 20)
        assert sender.meeting.address.startswith("tcp://[::1]:")
        receiver = Receiver(sender.meeting)
        _, copy = await asyncio.gather(sender.send(WEIGHTS, None, 1), taken(receiver, None))
        assert same(copy, WEIGHTS)
        sender.close()
        receiver.close()

    asyncio.run(both())
