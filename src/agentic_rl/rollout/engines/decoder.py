"""The forward pass of a ragged batch over a KV cache, for models of Llama's kind.

Every row feeds one token or a chunk of tokens. The tokens of a step lie one behind the other without padding: first
the last token of every row (the *heads* of the step, from which it may sample), then the others, in chunks. Linear
maps see them all at once; attention runs per pool for the heads and per group of chunks for the others. The last
layer computes nothing but keys and values for tokens that no one samples from.

Shapes: T tokens of the step, R rows, P rows of a group of chunks, N longest chunk, L cached tokens looked at,
H heads, K key-value heads, D head size, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812 (torch's own name for it)

from agentic_rl.rollout.engines.cache import CacheShape, Pool
from agentic_rl.rollout.engines.weights import Layer, Shape, read_layers, rotations, scaled

_PIECE = 512


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
        self._embedding, self._head = model.get_input_embeddings(), model.lm_head
        weight = self._embedding.weight
        self.vocab_size = int(weight.shape[0])
        s = self._shape
        self.cache_shape = CacheShape(s.layers, s.kv_heads, s.head_dim, weight.dtype, weight.device)
        self._fast = weight.dtype is torch.float32 and weight.device.type == "cpu"
        self._qkv_heads = (s.heads, 2 * s.kv_heads)
        sizes = torch.tensor([weight.shape[1], s.head_dim], dtype=torch.float32, device=weight.device)
        self._eps = (sizes * s.eps).sqrt()
        self._rotations = rotations(model, max_model_len)
        self.refresh()

    def refresh(self) -> None:
        """Copy the model's weights as they are now."""
        with torch.no_grad():
            self._layers = read_layers(self._model, self._shape)
            self._norm = scaled(self._model.model.norm.weight)

    def forward(self, step: StepInput) -> Tensor:
        """The logits of every row's last token, shape (R, V)."""
        x = F.embedding(step.tokens, self._embedding.weight)
        cis = self._rotations.index_select(0, step.positions)
        last = len(self._layers) - 1
        for index, layer in enumerate(self._layers):
            qkv = _in_pieces(self._project, layer, x, cis)
            queries, kv = qkv.split_with_sizes(self._qkv_heads, 1)
            self._store(kv, index, step)
            attended = self._attend(queries, index, step.heads, step.chunks if index < last else [])
            if index == last and step.chunks:
                x = x[: attended.shape[0]]
            x = _in_pieces(self._finish, layer, x, attended)
        return F.linear(_unit(x, self._eps[0]).mul_(self._norm), self._head.weight)

    def _project(self, layer: Layer, x: Tensor, cis: Tensor) -> Tensor:
        """Queries, keys (both rotated) and values, shape (T, H + 2 * K, D)."""
        s, tokens = self._shape, x.shape[0]
        unit = _unit(x, self._eps[0])
        flat = torch.mm(unit, layer.qkv) if layer.qkv_bias is None else torch.addmm(layer.qkv_bias, unit, layer.qkv)
        qkv = flat.view(tokens, -1, s.head_dim)
        qk = qkv.narrow(1, 0, s.heads + s.kv_heads)
        if layer.qk_norm is not None:
            torch.mul(_unit(qk, self._eps[1]), layer.qk_norm, out=qk)
        pairs = qk.view(tokens, -1, s.head_dim // 2, 2)
        if self._fast:
            torch.view_as_complex(pairs).mul_(cis)
        else:
            pairs.copy_(torch.view_as_real(torch.view_as_complex(pairs.float()) * cis))
        return qkv

    def _store(self, kv: Tensor, index: int, step: StepInput) -> None:
        parts: list[Part] = [*step.heads, *step.chunks]
        for part in parts:
            new = kv if len(parts) == 1 else kv[part.start : part.stop]
            part.pool.entries[index].index_put_((part.entries,), new)

    def _attend(self, queries: Tensor, index: int, heads: list[Heads], chunks: list[Chunks]) -> Tensor:
        """What attention gives for the heads and the chunks, shape (T or R, H * D)."""
        parts = [self._attend_heads(queries, index, h) for h in heads]
        parts += [self._attend_chunks(queries, index, c) for c in chunks]
        return parts[0] if len(parts) == 1 else torch.cat(parts)

    def _attend_heads(self, queries: Tensor, index: int, heads: Heads) -> Tensor:
        s, rows = self._shape, heads.stop - heads.start
        batch = rows * s.kv_heads
        q = queries.narrow(0, heads.start, rows).reshape(batch, -1, s.head_dim)
        keys = heads.pool.keys[index][:batch, : heads.length]
        values = heads.pool.values[index][:batch, : heads.length]
        bias = heads.bias.narrow(2, 0, heads.length)
        if self._fast:
            scores = torch.baddbmm(bias, q, keys.mT, alpha=self._scale)
            out = torch.bmm(torch.softmax(scores, -1), values)
        else:
            out = F.scaled_dot_product_attention(q, keys, values, attn_mask=bias, scale=self._scale)
        return out.view(rows, -1)

    def _finish(self, layer: Layer, x: Tensor, attended: Tensor) -> Tensor:
        """What follows attention in a layer: output map and feed-forward part, both with their residuals."""
        x = torch.addmm(x, attended, layer.out)
        if layer.out_bias is not None:
            x += layer.out_bias
        unit = _unit(x, self._eps[0])
        if layer.gate_up_bias is None:
            gate_up = torch.mm(unit, layer.gate_up)
        else:
            gate_up = torch.addmm(layer.gate_up_bias, unit, layer.gate_up)
        gate, up = gate_up.split(layer.down.shape[0], 1)
        x = torch.addmm(x, F.silu(gate).mul_(up), layer.down)
        if layer.down_bias is not None:
            x += layer.down_bias
        return x

    def _attend_chunks(self, queries: Tensor, index: int, chunks: Chunks) -> Tensor:
        s, rows, length = self._shape, len(chunks.slots), chunks.bias.shape[-1]
        kv = chunks.pool.kv[index, :, chunks.slots, :, :length]
        q = queries[chunks.padded].view(rows, -1, s.heads, s.head_dim).transpose(1, 2)
        out = F.scaled_dot_product_attention(
            q, kv[0], kv[1], attn_mask=chunks.bias, scale=self._scale, enable_gqa=s.heads != s.kv_heads
        )
        return out.transpose(1, 2).reshape(-1, s.heads * s.head_dim)[chunks.places]


def _in_pieces(compute: Callable[[Layer, Tensor, Tensor], Tensor], layer: Layer, a: Tensor, b: Tensor) -> Tensor:
    """Compute for some hundred tokens at a time: what lies between stays in the CPU's cache (three times as fast)."""
    if a.shape[0] <= _PIECE or a.device.type != "cpu":
        return compute(layer, a, b)
    pieces = zip(a.split(_PIECE), b.split(_PIECE), strict=True)
    return torch.cat([compute(layer, a_piece, b_piece) for a_piece, b_piece in pieces])


def _unit(x: Tensor, eps: Tensor) -> Tensor:
    """Divide by the length of the last dimension; `eps` is added to it as if it were one more dimension.

    The root-mean-square norm but for a factor, which the weights hold (`weights.scaled`), in half the time.
    """
    if x.dtype is not torch.float32:
        return _unit(x.float(), eps).to(x.dtype)
    length: Tensor = torch.linalg.vector_norm(x, dim=-1, keepdim=True)
    return x / length.hypot_(eps)
