"""The engine of the local backend: continuous batching over a ragged KV cache, in this process."""

from __future__ import annotations

from math import isfinite
from typing import Any

import torch

from agentic_rl.rollout.engines.decoder import Decoder
from agentic_rl.rollout.engines.queue import QueueEngine
from agentic_rl.rollout.engines.requests import Row
from agentic_rl.rollout.engines.scheduler import Scheduler
from agentic_rl.rollout.engines.steps import Batch
from agentic_rl.rollout.engines.weights import versions


class RaggedEngine(QueueEngine):
    """Decodes rows at their own positions, without padding, for the models of `weights.supports`.

    Reads the model's parameters as they are. Most writes to them are noticed and drop what was cached; fused optimizers
    and writes through `Tensor.data` leave no trace, so call `weights_changed()` after an update. Parameters put in the
    place of others need a new engine.
    A copy of the layers' weights is held.

    Args:
        model: A transformers causal language model.
        max_model_len: Longest prompt and completion together, in tokens.
        max_num_seqs: Rows that decode at once; others wait in order.
        max_num_batched_tokens: Tokens of one step; longer prompts are read in chunks. At least `max_num_seqs`.
        session_cache_bytes: Room for the caches of sessions between two calls; the oldest go first.
    """

    def __init__(
        self,
        model: Any,
        *,
        max_model_len: int,
        max_num_seqs: int = 256,
        max_num_batched_tokens: int = 8192,
        session_cache_bytes: int = 2 << 30,
    ) -> None:
        if max_num_batched_tokens < max_num_seqs:
            raise ValueError(
                f"max_num_batched_tokens is {max_num_batched_tokens}, but every one of max_num_seqs "
                f"({max_num_seqs}) rows needs a token in each step; raise it to {max_num_seqs} or more"
            )
        self._decoder = Decoder(model, max_model_len)
        super().__init__(max_model_len=max_model_len, vocab_size=self._decoder.vocab_size)
        self._parameters = list(model.parameters())
        self._versions = versions(self._parameters)
        self._scheduler = Scheduler(
            self._decoder.cache_shape,
            max_model_len=max_model_len,
            max_rows=max_num_seqs,
            max_tokens=max_num_batched_tokens,
            parked=session_cache_bytes,
        )
        self._batch: Batch | None = None

    def release(self, session: str) -> None:
        """Forget the cache of `session`; a call of it that still runs goes on."""
        self._scheduler.release(session)

    def weights_changed(self) -> None:
        """Drop what was cached and read the weights again; rows in flight read their tokens again."""
        self._versions = []
        self._scheduler.forget_cached()
        self._batch = None

    def _running(self) -> list[Row]:
        return self._scheduler.running()

    def _busy(self) -> bool:
        return self._scheduler.busy

    def _drop(self) -> None:
        self._batch = None
        self._scheduler.clear()

    @torch.inference_mode()
    def _step(self) -> list[Row]:
        self._follow_weights()
        batch = self._batch
        if batch is None or self._cancelled or (self._waiting and not self._scheduler.full):
            self._cancelled = False
            batch = self._batch = self._scheduler.plan(self._waiting)
        return [] if batch is None else self._decode(batch)

    def _follow_weights(self) -> None:
        now = versions(self._parameters)
        if self._versions != now:
            self.weights_changed()
            self._decoder.refresh()
            self._versions = now

    def _decode(self, batch: Batch) -> list[Row]:
        logits = self._decoder.forward(batch.input)
        sampled, logprobs = batch.sampler.sample(logits, batch.next_positions)
        tokens, values = sampled.tolist(), logprobs.tolist()
        if not isfinite(sum(values)):
            raise FloatingPointError("the model's logits are not finite; its weights hold NaN or infinite values")
        ended = batch.append(tokens, values)
        if ended or not batch.steady or not batch.fits():
            self._batch = None
            self._scheduler.end(ended)
        else:
            batch.advance(sampled)
        return ended
