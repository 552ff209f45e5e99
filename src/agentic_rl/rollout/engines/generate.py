"""transformers' own forward behind the engine protocol, for models that the ragged engine doesn't cover."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from math import isfinite
from typing import Any

import torch
from torch import Tensor

from agentic_rl.rollout.engines.queue import QueueEngine
from agentic_rl.rollout.engines.requests import Row
from agentic_rl.rollout.engines.sampling import Sampler


class GenerateEngine(QueueEngine):
    """Batches with left padding: those who wait start together, and the next batch starts when all have ended.

    Takes any causal language model with a cache. Sessions keep nothing between calls; the parameters are the model's
    own. `max_num_batched_tokens` bounds a batch's padded prompt tokens (one prompt may be longer).
    """

    def __init__(
        self, model: Any, *, max_model_len: int, max_num_seqs: int = 256, max_num_batched_tokens: int = 8192
    ) -> None:
        embedding = model.get_input_embeddings().weight
        super().__init__(max_model_len=max_model_len, vocab_size=int(embedding.shape[0]))
        self._model = model
        self._device = embedding.device
        self._max_num_seqs = max_num_seqs
        self._max_num_batched_tokens = max_num_batched_tokens
        accepted = inspect.signature(model.forward).parameters
        self._takes_positions = "position_ids" in accepted
        self._cache_name = "cache" if "cache" in accepted else "past_key_values"  # transformers 5.2x renamed it
        self._batch: _PaddedBatch | None = None

    def release(self, session: str) -> None:
        """Nothing to do: no cache outlives its batch."""

    def weights_changed(self) -> None:
        """Nothing to do: every forward pass reads the model's own weights."""

    def _running(self) -> list[Row]:
        return [] if self._batch is None else [row for row in self._batch.rows if not row.future.done()]

    def _busy(self) -> bool:
        return bool(self._running())

    def _drop(self) -> None:
        self._batch = None

    @torch.no_grad()
    def _step(self) -> list[Row]:
        self._cancelled = False
        if not self._running():
            rows = self._next_rows()
            self._batch = _PaddedBatch(rows, self._device) if rows else None
        if self._batch is None:
            return []
        with _evaluating(self._model):
            logits = self._forward(self._batch)
        return self._batch.append(logits)

    def _next_rows(self) -> list[Row]:
        rows: list[Row] = []
        longest = 0
        while self._waiting and len(rows) < self._max_num_seqs:
            row = self._waiting[0]
            longest = max(longest, len(row.tokens))
            if rows and longest * (len(rows) + 1) > self._max_num_batched_tokens:
                break
            self._waiting.popleft()
            if not row.future.done():
                rows.append(row)
        return rows

    def _forward(self, batch: _PaddedBatch) -> Tensor:
        inputs: dict[str, Any] = {"input_ids": batch.tokens, "attention_mask": batch.mask, "use_cache": True}
        if batch.cache is not None:
            inputs[self._cache_name] = batch.cache
        if self._takes_positions:
            inputs["position_ids"] = batch.positions
        output = self._model(**inputs)
        batch.cache = output[self._cache_name]
        logits: Tensor = output.logits[:, -1]
        return logits


class _PaddedBatch:
    """Rows that started together, of which some may have ended."""

    def __init__(self, rows: list[Row], device: torch.device) -> None:
        self.rows = rows
        self.cache: Any = None
        width = max(len(row.tokens) for row in rows)
        padding = [width - len(row.tokens) for row in rows]
        padded = [[0] * gap + row.tokens for gap, row in zip(padding, rows, strict=True)]
        self.tokens = torch.tensor(padded, device=device)
        self.mask = (torch.arange(width, device=device) >= torch.tensor(padding, device=device)[:, None]).long()
        self.positions = (self.mask.cumsum(-1) - 1).clamp(min=0)
        self._sampler = Sampler([row.sampling for row in rows], device)

    def append(self, logits: Tensor) -> list[Row]:
        """Sample a token for every row, make the next input of them, and return the rows that ended."""
        self.positions = self.positions[:, -1:] + 1
        sampled, logprobs = self._sampler.sample(logits, self.positions[:, 0])
        self.tokens = sampled[:, None]
        self.mask = torch.nn.functional.pad(self.mask, (0, 1), value=1)
        if not isfinite(sum(logprobs.tolist())):
            raise FloatingPointError("the model's logits are not finite; its weights hold NaN or infinite values")
        return [
            row
            for row, token, logprob in zip(self.rows, sampled.tolist(), logprobs.tolist(), strict=True)
            if not self._ended(row) and row.append(token, logprob)
        ]

    @staticmethod
    def _ended(row: Row) -> bool:
        """Whether it got its last token, or no one waits for it; it is fed on, as the batch keeps its shape."""
        return row.future.done()


@contextmanager
def _evaluating(model: Any) -> Iterator[None]:
    """Without dropout, and as before afterwards."""
    training = model.training
    model.eval()
    try:
        yield
    finally:
        model.train(training)
