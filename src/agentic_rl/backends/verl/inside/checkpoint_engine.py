"""A checkpoint engine of verl between CPUs: verl's own need accelerators, RDMA, or one process for both sides.

verl makes one in every worker of the trainer and in every worker of an inference server that has devices of its own. At
each synchronization it calls `prepare` in all of them, `build_topology` once, `init_process_group` in all, then
`send_weights` and `receive_weights`, and `finalize`.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import ray
from verl.checkpoint_engine.base import CheckpointEngine, CheckpointEngineRegistry

from agentic_rl.backends.verl.inside.names import WEIGHT_CHANNEL
from agentic_rl.backends.verl.inside.weight_stream import Meeting, Named, Receiver, Sender


@CheckpointEngineRegistry.register(WEIGHT_CHANNEL)
class StreamedWeights(CheckpointEngine):
    """Sends from rank 0 of the trainer to every worker of the inference servers, over TCP.

    Args:
        bucket_size: bytes that are on their way at once.
        is_master: whether this is rank 0 of the trainer.
    """

    def __init__(self, bucket_size: int, is_master: bool = False) -> None:
        self._bucket_size = bucket_size
        self._is_master = is_master
        self._sender: Sender | None = None
        self._receiver: Receiver | None = None
        self._receivers = 0

    def prepare(self) -> dict[str, str]:
        """Listen, where this is the sender; what it returns is for `build_topology`."""
        if not self._is_master:
            return {}
        self.finalize()  # of a synchronization that failed
        self._sender = Sender(ray.util.get_node_ip_address().strip("[]"), self._bucket_size)
        return asdict(self._sender.meeting)

    @classmethod
    def build_topology(
        cls, trainers: int, receivers: int, metadata: Sequence[Mapping[str, str]]
    ) -> tuple[dict[str, list[Any]], dict[str, list[Any]]]:
        """What `init_process_group` gets in each of the `trainers` and of the `receivers`, by keyword."""
        meeting = next(one for one in metadata[:trainers] if one)
        return (
            {"receivers": [receivers] * trainers, "meeting": [None] * trainers},
            {"receivers": [receivers] * receivers, "meeting": [meeting] * receivers},
        )

    def init_process_group(self, receivers: int, meeting: Mapping[str, str] | None) -> None:
        """Connect, where this is a receiver."""
        self._receivers = receivers
        if meeting is not None:
            self._receiver = Receiver(Meeting(**meeting))

    async def send_weights(self, weights: Iterable[Named], global_steps: int | None = None) -> dict[str, float]:
        """Send, and return what is measured; the trainer's other ranks only take part in gathering the tensors.

        Raises:
            WeightTransferError: a receiver is not there or does not go on.
        """
        if self._sender is None:
            for _ in weights:
                pass
            return {}
        begun = time.perf_counter()
        size = await self._sender.send(weights, global_steps, self._receivers)
        return {"weights/megabytes": size / 1e6, "weights/transfer_seconds": time.perf_counter() - begun}

    async def receive_weights(self, global_steps: int | None = None) -> AsyncIterator[Named]:
        """The tensors as they come.

        Raises:
            WeightTransferError: the sender is not there or does not go on, or has those of another step.
        """
        if self._receiver is None:
            raise RuntimeError("init_process_group was not called")
        async for named in self._receiver.receive(global_steps):
            yield named

    def finalize(self) -> None:
        """Close the connections."""
        for side in (self._sender, self._receiver):
            if side is not None:
                side.close()
        self._sender = self._receiver = None
