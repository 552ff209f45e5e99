"""The forward pass of a ragged batch over a KV cache, for models of Llama's kind.

Every row feeds one token or a chunk of tokens. The tokens of a step lie one behind the other without padding: first
the last token of every row (the *heads* of the step, from which it may sample), then the others, in chunks. Linear
maps see them all at once; attention runs per pool for the heads and per group of chunks for the others. The last
layer computes nothing but keys and values for tokens that no one samples from.

Shapes: T tokens of the step, R rows, P rows of a group of chunks, N longest chunk, L cached tokens looked at,
H heads, K key-value heads, D head size, V vocabulary.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812 (torch's own name for it)

from agentic_rl.rollout.engines.cache import CacheShape, Pool
from agentic_rl.rollout.engines.weights import Layer, Shape, read_layers, rotations


@dataclass
class Part:
    """Tokens of a step that lie one behind the other, and whose rows are in one pool."""

    pool: Pool
    start: int
    """Of the tokens in the step."""
    entries: Tensor
    """Where in the pool the new keys and values belong. Shape (tokens, 2 * K)."""

    @property
    def stop(self) -> int:
        """The end of the tokens in the step."""
        return self.start + len(self.entries)


@dataclass
class Heads(Part):
    """The last tokens of all rows of a pool."""

    bias: Tensor
    """0 for the tokens of a row, -inf behind them. Shape (rows * K, 1, capacity)."""
    length: int
    """The longest row."""


@dataclass
class Chunks(Part):
    """The earlier tokens of some rows of a pool, chunks of about one length."""

    slots: Tensor
    """Shape (P,)."""
    padded: Tensor
    """For every place of a padded chunk its token in the step; any token where there is none. Shape (P * N,)."""
    places: Tensor
    """For every token its place among the padded ones. Shape (tokens,)."""
    bias: Tensor
    """Shape (P, 1, N, L)."""


@dataclass
class StepInput:
    """All that one forward pass reads."""

    tokens: Tensor
    """Shape (T,)."""
    positions: Tensor
    """Shape (T,)."""
    heads: list[Heads]
    chunks: list[Chunks]


class Decoder:
    """A supported transformers model's forward pass over the cache."""

    def __init__(self, model: Any, max_model_len: int) -> None:
        self._model = model
        self._shape = Shape.of(model)
        self._scale = float(model.model.layers[0].self_attn.scaling)
        weight = model.get_input_embeddings().weight
        self.vocab_size = int(weight.shape[0])
        s = self._shape
        self.cache_shape = CacheShape(s.layers, s.kv_heads, s.head_dim, weight.dtype, weight.device)
        self._fast = weight.dtype is torch.float32 and weight.device.type == "cpu"
        self._rotations = rotations(model, max_model_len)
        self.refresh()

    def refresh(self) -> None:
        """Copy the model's weights as they are now."""
        with torch.no_grad():
            self._layers = read_layers(self._model, self._shape)

    def forward(self, step: StepInput) -> Tensor:
        """The logits of every row's last token, shape (R, V)."""
        model, eps = self._model, self._shape.eps
        x = F.embedding(step.tokens, model.get_input_embeddings().weight)
        cis = self._rotations[step.positions]
        last = len(self._layers) - 1
        for index, layer in enumerate(self._layers):
            qkv = self._project(x, layer, cis)
            self._store(qkv, index, step)
            chunks = step.chunks if index < last else []
            attended = self._attend(qkv, index, step.heads, chunks)
            x = _layer_tail(x[: len(attended)], attended, layer, eps)
        norm = model.model.norm
        return F.linear(F.rms_norm(x, norm.weight.shape, norm.weight, eps), model.lm_head.weight)

    def _project(self, x: Tensor, layer: Layer, cis: Tensor) -> Tensor:
        """Queries, keys (both rotated) and values, shape (T, H + 2 * K, D)."""
        s = self._shape
        normed = F.rms_norm(x, x.shape[-1:], None, s.eps)
        qkv = torch.mm(normed, layer.qkv) if layer.qkv_bias is None else torch.addmm(layer.qkv_bias, normed, layer.qkv)
        qkv = qkv.view(len(x), -1, s.head_dim)
        qk = qkv[:, : s.heads + s.kv_heads]
        if layer.qk_norm is not None:
            torch.mul(F.rms_norm(qk, (s.head_dim,), None, s.eps), layer.qk_norm, out=qk)
        pairs = qk.unflatten(-1, (-1, 2))
        if self._fast:
            torch.view_as_complex(pairs).mul_(cis)
        else:
            pairs.copy_(torch.view_as_real(torch.view_as_complex(pairs.float()) * cis))
        return qkv

    def _store(self, qkv: Tensor, index: int, step: StepInput) -> None:
        kv = qkv[:, self._shape.heads :]
        parts: list[Part] = [*step.heads, *step.chunks]
        for part in parts:
            part.pool.entries[index].index_put_((part.entries,), kv[part.start : part.stop])

    def _attend(self, qkv: Tensor, index: int, heads: list[Heads], chunks: list[Chunks]) -> Tensor:
        """What attention gives for the heads and the chunks, shape (T or R, H * D)."""
        queries = qkv[:, : self._shape.heads]
        parts = [self._attend_heads(queries[h.start : h.stop], index, h) for h in heads]
        parts += [self._attend_chunks(queries, index, c) for c in chunks]
        return parts[0] if len(parts) == 1 else torch.cat(parts)

    def _attend_heads(self, queries: Tensor, index: int, heads: Heads) -> Tensor:
        s, rows = self._shape, len(queries)
        q = queries.reshape(rows * s.kv_heads, -1, s.head_dim)
        keys = heads.pool.keys[index][: len(q), : heads.length]
        values = heads.pool.values[index][: len(q), : heads.length]
        bias = heads.bias[:, :, : heads.length]
        if self._fast:
            scores = torch.baddbmm(bias, q, keys.transpose(1, 2), alpha=self._scale)
            out = torch.bmm(torch.softmax(scores, -1), values)
        else:
            out = F.scaled_dot_product_attention(q, keys, values, attn_mask=bias, scale=self._scale)
        return out.view(rows, -1)

    def _attend_chunks(self, queries: Tensor, index: int, chunks: Chunks) -> Tensor:
        s, rows, length = self._shape, len(chunks.slots), chunks.bias.shape[-1]
        kv = chunks.pool.kv[index, :, chunks.slots, :, :length]
        q = queries[chunks.padded].view(rows, -1, s.heads, s.head_dim).transpose(1, 2)
        out = F.scaled_dot_product_attention(
            q, kv[0], kv[1], attn_mask=chunks.bias, scale=self._scale, enable_gqa=s.heads != s.kv_heads
        )
        return out.transpose(1, 2).reshape(-1, s.heads * s.head_dim)[chunks.places]


def _layer_tail(x: Tensor, attended: Tensor, layer: Layer, eps: float) -> Tensor:
    """What follows attention in a layer: output map, feed-forward part, both with their residuals."""
    x = torch.addmm(x, attended, layer.out)
    if layer.out_bias is not None:
        x += layer.out_bias
    normed = F.rms_norm(x, x.shape[-1:], None, eps)
    gate_up = torch.mm(normed, layer.gate_up)
    if layer.gate_up_bias is not None:
        gate_up += layer.gate_up_bias
    gate, up = gate_up.chunk(2, -1)
    x = torch.addmm(x, F.silu(gate).mul_(up), layer.down)
    if layer.down_bias is not None:
        x += layer.down_bias
    return x
