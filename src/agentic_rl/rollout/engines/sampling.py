"""Sampling of one token per row, every row with its own parameters and its own random numbers.

Shapes: R rows, V tokens of the vocabulary. Temperature, min_p, top_k and top_p apply in this order, as in vLLM.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from agentic_rl.rollout.engines.base import SamplingParams

# splitmix64: Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014.
_GOLDEN = 0x9E3779B97F4A7C15
_MIX_1 = 0xBF58476D1CE4E5B9
_MIX_2 = 0x94D049BB133111EB
_UNIFORM_BITS = 50  # so that a uniform number times a sum stays below the sum in double precision
_LOOK_AHEAD = 64
_FLAT_VOCABULARY = 4096  # up to here one cumulative sum is faster than two levels of them
_BLOCK = 256


def _signed(value: int) -> int:
    """The same 64 bits as a signed integer, the only 64-bit kind that torch computes with."""
    value &= (1 << 64) - 1
    return value - (1 << 64) if value >> 63 else value


def _shift(bits: Tensor, by: int) -> Tensor:
    return (bits >> by).bitwise_and_((1 << (64 - by)) - 1)


def _mix(bits: Tensor) -> Tensor:
    bits = (bits ^ _shift(bits, 30)).mul_(_signed(_MIX_1))
    bits = (bits ^ _shift(bits, 27)).mul_(_signed(_MIX_2))
    return bits ^ _shift(bits, 31)


def uniforms(seeds: Tensor, positions: Tensor) -> Tensor:
    """Random numbers in (0, 1), a function of (seed, position) and of nothing else.

    Both of int64, shapes that broadcast; the result is of float64. Counter-based, so that a row's numbers depend
    neither on the other rows of its batch nor on when it was admitted.
    """
    state = _mix(seeds + _signed(_GOLDEN))
    bits = _mix(state + (positions + 1) * _signed(_GOLDEN))
    return _shift(bits, 64 - _UNIFORM_BITS).to(torch.float64).add_(0.5).mul_(2.0**-_UNIFORM_BITS)


def pick(weights_RV: Tensor, uniform_R: Tensor) -> Tensor:
    """The inverse of the cumulative distribution of unnormalised probabilities; never a token of weight 0.

    Sums are in double precision: in single precision those of 150,000 tokens would be off by more than the
    probability of a rare token.
    """
    vocabulary = weights_RV.shape[1]
    if vocabulary <= _FLAT_VOCABULARY:
        return _search(weights_RV, uniform_R)[0]
    padding = -vocabulary % _BLOCK
    blocks = torch.nn.functional.pad(weights_RV, (0, padding)).unflatten(1, (-1, _BLOCK))
    block, rest = _search(blocks.sum(-1, dtype=torch.float64), uniform_R)
    chosen = blocks[torch.arange(len(blocks), device=block.device), block]
    return block * _BLOCK + _search(chosen, rest)[0]


def _search(weights_RN: Tensor, uniform_R: Tensor) -> tuple[Tensor, Tensor]:
    """The entry that the uniform number falls on, and where in it, again from 0 to 1."""
    sums = weights_RN.cumsum(-1, dtype=torch.float64)
    target = sums[:, -1:] * uniform_R[:, None]
    index = torch.searchsorted(sums, target, right=True).clamp_(max=weights_RN.shape[1] - 1)
    width = weights_RN.gather(1, index).to(torch.float64)
    inside = (target - (sums.gather(1, index) - width)) / width
    return index[:, 0], inside[:, 0].clamp_(0.0, 1.0 - 2.0**-_UNIFORM_BITS)


class Sampler:
    """The sampling parameters of a batch of rows, as tensors."""

    def __init__(self, params: Sequence[SamplingParams], device: torch.device) -> None:
        def column(values: list[float] | list[int], dtype: torch.dtype) -> Tensor:
            return torch.tensor(values, dtype=dtype, device=device)

        temperatures = [p.temperature or 1.0 for p in params]
        greedy = [p.temperature == 0 for p in params]
        self._all_greedy = all(greedy)
        self._greedy = torch.tensor(greedy, device=device) if any(greedy) else None
        self._temperature = (
            column(temperatures, torch.float32)[:, None] if any(t != 1.0 for t in temperatures) else None
        )
        self._seeds = column([_signed(p.seed) for p in params], torch.int64)
        self._uniforms = torch.empty(0, len(params), dtype=torch.float64, device=device)
        self._used = 0
        drawn = [p for p in params if p.temperature > 0]
        self._top_k = column([max(p.top_k, 0) for p in params], torch.int64)
        self._max_k = max((p.top_k for p in drawn), default=0)
        self._top_p = column([p.top_p for p in params], torch.float64)[:, None]
        self._min_p = column([p.min_p for p in params], torch.float32)[:, None]
        self._any_top_p = any(p.top_p < 1 for p in drawn)
        self._any_min_p = any(p.min_p > 0 for p in drawn)

    def sample(self, logits_RV: Tensor, positions_R: Tensor) -> tuple[Tensor, Tensor]:
        """A token for every row, and its log-probability before truncation; both of shape (R,).

        `positions_R` are the places of the new tokens in their sequences, each one more than at the call before.
        """
        logits = logits_RV.float()
        if self._temperature is not None:
            logits = logits / self._temperature
        probabilities = torch.softmax(logits, -1)
        if self._all_greedy:
            tokens = logits.argmax(-1)
        else:
            tokens = pick(self._truncate(probabilities), self._next_uniforms(positions_R))
            if self._greedy is not None:
                tokens = torch.where(self._greedy, logits.argmax(-1), tokens)
        return tokens, probabilities.gather(1, tokens[:, None])[:, 0].log()

    def _next_uniforms(self, positions: Tensor) -> Tensor:
        """This step's numbers; a batch that stays together gets those of more and more steps at once."""
        if self._used == len(self._uniforms):
            ahead = torch.arange(min(2 * self._used, _LOOK_AHEAD) or 1, device=positions.device)
            self._uniforms = uniforms(self._seeds, positions + ahead[:, None])
            self._used = 0
        self._used += 1
        return self._uniforms[self._used - 1]

    def _truncate(self, probabilities: Tensor) -> Tensor:
        """The probabilities with 0 for what min_p, top_k and top_p exclude."""
        kept = probabilities
        if self._any_min_p:
            kept = kept.masked_fill(kept < self._min_p * kept.amax(-1, keepdim=True), 0.0)
        if self._max_k > 0:
            kept = _keep_top_k(kept, self._top_k, self._max_k)
        if self._any_top_p:
            kept = _keep_top_p(kept, self._top_p)
        return kept


def _keep_top_k(probabilities: Tensor, top_k: Tensor, max_k: int) -> Tensor:
    """Keep the k most probable of each row, and what equals the k-th; 0 keeps all."""
    best = probabilities.topk(min(max_k, probabilities.shape[1]), dim=-1).values
    last = best.gather(1, (top_k - 1).clamp(0, best.shape[1] - 1)[:, None])
    return probabilities.masked_fill((probabilities < last) & (top_k > 0)[:, None], 0.0)


def _keep_top_p(probabilities: Tensor, top_p: Tensor) -> Tensor:
    """Keep of each row the fewest most probable tokens that hold the share `top_p`.

    Sorting a large vocabulary is slow, and the share is nearly always reached by few tokens: look at the best 256
    first, then at more.
    """
    wanted = top_p * probabilities.sum(-1, keepdim=True, dtype=torch.float64)
    on = top_p < 1
    width = min(_BLOCK, probabilities.shape[1])
    while True:
        best, where = probabilities.topk(width, dim=-1)
        sums = best.cumsum(-1, dtype=torch.float64)
        if width == probabilities.shape[1] or bool(((sums[:, -1:] >= wanted) | ~on).all()):
            break
        width = min(16 * width, probabilities.shape[1])
    inside = torch.where(sums - best < wanted, best, 0.0)
    return torch.where(on, torch.zeros_like(probabilities).scatter_(1, where, inside), probabilities)
