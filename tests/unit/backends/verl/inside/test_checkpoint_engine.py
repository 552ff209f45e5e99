"""Our checkpoint engine as verl makes and calls it, without Ray: the workers are objects of one process."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from verl_server_doubles import import_verl

if not import_verl():
    pytest.skip("verl is not installed", allow_module_level=True)

import torch
from verl.checkpoint_engine import CheckpointEngineRegistry
from verl.utils.import_utils import import_external_libs

from agentic_rl.backends.verl.inside.names import CHECKPOINT_ENGINE, WEIGHT_CHANNEL

pytestmark = pytest.mark.verl
WEIGHTS = [("a", torch.arange(4.0)), ("b", torch.ones(2, 3, dtype=torch.bfloat16))]


def engines(count: int, *, master: bool = False) -> list[Any]:
    import_external_libs(CHECKPOINT_ENGINE)
    more = [{"is_master": rank == 0} if master else {} for rank in range(count)]
    return [CheckpointEngineRegistry.new(WEIGHT_CHANNEL, bucket_size=16, **one) for one in more]


def connected(trainers: list[Any], receivers: list[Any]) -> None:
    """As verl's `CheckpointEngineManager.build_process_group` does it."""
    metadata = [engine.prepare() for engine in (*trainers, *receivers)]
    kind = CheckpointEngineRegistry.get(WEIGHT_CHANNEL)
    for side, keywords in zip((trainers, receivers), kind.build_topology(2, 3, metadata), strict=True):
        for rank, engine in enumerate(side):
            engine.init_process_group(**{name: values[rank] for name, values in keywords.items()})


def test_weights_reach_every_inference_worker_at_every_step() -> None:
    trainers, receivers = engines(2, master=True), engines(3)
    gathered: list[int] = []

    def parameters(rank: int) -> Any:
        for named in WEIGHTS:
            gathered.append(rank)  # every rank has to take part in gathering a tensor
            yield named

    async def synchronize(step: int) -> None:
        sending = [engine.send_weights(parameters(rank), global_steps=step) for rank, engine in enumerate(trainers)]
        taking = [taken(engine.receive_weights(global_steps=step)) for engine in receivers]
        measured, other, *copies = await asyncio.gather(*sending, *taking)
        assert measured["weights/megabytes"] == 28 / 1e6
        assert measured["weights/transfer_seconds"] > 0
        assert other == {}
        for copy in copies:
            assert [name for name, _ in copy] == ["a", "b"]
            assert all(torch.equal(one, two) for (_, one), (_, two) in zip(copy, WEIGHTS, strict=True))

    for step in (0, 1):
        connected(trainers, receivers)
        asyncio.run(synchronize(step))
        for engine in (*trainers, *receivers):
            engine.finalize()
    assert sorted(gathered) == [0] * 4 + [1] * 4


async def taken(weights: Any) -> list[Any]:
    return [named async for named in weights]


def test_a_failed_synchronization_leaves_nothing_in_the_way_of_the_next() -> None:
    (engine,) = engines(1, master=True)
    assert engine.prepare() != engine.prepare()
    engine.finalize()
    engine.finalize()


def test_a_receiver_has_to_be_connected() -> None:
    (engine,) = engines(1)
    assert engine.prepare() == {}
    with pytest.raises(RuntimeError, match="init_process_group"):
        asyncio.run(taken(engine.receive_weights(0)))
