"""Sampling of one token per row, every row with its own parameters and its own random numbers.

Shapes: R rows, V tokens of the vocabulary. Temperature, min_p, top_k and top_p apply in this order, as in vLLM.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812 (torch's own name for it)

from agentic_rl.rollout.engines.base import SamplingParams
from agentic_rl.rollout.engines.tensors import integers

# splitmix64: Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014.
_GOLDEN = 0x9E3779B97F4A7C15
_MIX_1 = 0xBF58476D1CE4E5B9
_MIX_2 = 0x94D049BB133111EB
_UNIFORM_BITS = 50  # so that a uniform number times a sum stays below the sum in double precision
_LOOK_AHEAD = 64
_GREEDY_BELOW = 1e-5  # as vLLM: logits divided by less overflow
_FLAT_VOCABULARY = 4096  # up to here one cumulative sum is faster than two levels of them
_BLOCK = 256
_FIRST_LOOK = 32


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
        return _search(weights_RV, uniform_R[:, None])[0][:, 0]
    blocks = F.pad(weights_RV, (0, -vocabulary % _BLOCK)).unflatten(1, (-1, _BLOCK))
    masses = blocks.sum(-1, dtype=torch.float64)
    block, sums, target = _search(masses, uniform_R[:, None])
    mass = masses.gather(1, block)
    rest = (target - (sums.gather(1, block) - mass)) / mass
    chosen = blocks[torch.arange(len(blocks), device=block.device), block[:, 0]]
    inside, _, _ = _search(chosen, rest.clamp_(0.0, 1.0 - 2.0**-_UNIFORM_BITS))
    return (block * _BLOCK + inside)[:, 0]


def _search(weights_RN: Tensor, uniform_R1: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The entry that the uniform number falls on, the cumulative sums, and the sum searched for."""
    sums = weights_RN.cumsum(-1, dtype=torch.float64)
    target = sums[:, -1:] * uniform_R1
    index = torch.searchsorted(sums, target, right=True)
    return index.clamp_(max=weights_RN.shape[1] - 1), sums, target  # beyond the end only if weights are NaN


class Sampler:
    """The sampling parameters of a batch of rows, as tensors."""

    def __init__(self, params: Sequence[SamplingParams], device: torch.device) -> None:
        greedy = [p.temperature < _GREEDY_BELOW for p in params]
        drawn = [p for p, g in zip(params, greedy, strict=True) if not g]
        self._greedy = torch.tensor(greedy, device=device) if any(greedy) else None
        self._all_greedy = not drawn

        def column(values: list[float], off: float, dtype: torch.dtype = torch.float32) -> Tensor | None:
            """Shape (R, 1); None if no row that is drawn needs it."""
            if all(v == off for v, g in zip(values, greedy, strict=True) if not g):
                return None
            return torch.tensor(values, dtype=dtype, device=device)[:, None]

        self._temperature = column([1.0 if g else p.temperature for p, g in zip(params, greedy, strict=True)], 1.0)
        self._top_k = column([max(p.top_k, 0) for p in params], 0, torch.int64)
        self._max_k = max((p.top_k for p in drawn), default=0)
        self._top_p = column([p.top_p for p in params], 1.0, torch.float64)
        self._min_p = column([p.min_p for p in params], 0.0)
        self._seeds = integers([_signed(p.seed) for p in params], device)
        self._uniforms = torch.empty(0, len(params), dtype=torch.float64, device=device)
        self._used = 0

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
        return tokens, probabilities.gather(1, tokens[:, None])[:, 0].log_()

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
        if self._min_p is not None:
            kept = kept.masked_fill(kept < self._min_p * kept.amax(-1, keepdim=True), 0.0)
        if self._top_k is not None:
            kept = _keep_top_k(kept, self._top_k, self._max_k)
        if self._top_p is not None:
            kept = _keep_top_p(kept, self._top_p)
        return kept


def _keep_top_k(probabilities: Tensor, top_k: Tensor, max_k: int) -> Tensor:
    """Keep the k most probable of each row, and what equals the k-th; 0 keeps all."""
    best = probabilities.topk(min(max_k, probabilities.shape[1]), dim=-1).values
    last = best.gather(1, (top_k - 1).clamp(0, best.shape[1] - 1))
    return probabilities.masked_fill((probabilities < last) & (top_k > 0), 0.0)


def _keep_top_p(probabilities: Tensor, top_p: Tensor) -> Tensor:
    """Keep of each row the fewest most probable tokens that hold the share `top_p`.

    Sorting a vocabulary is slow, and the share is nearly always reached by few tokens: look at the best 32 first, and
    for the rows that need more at eight times as many.
    """
    wanted = top_p * probabilities.sum(-1, keepdim=True, dtype=torch.float64)
    kept = probabilities.clone()
    rows = (top_p[:, 0] < 1).nonzero()[:, 0]
    width, vocabulary = _FIRST_LOOK, probabilities.shape[1]
    while len(rows) > 0:
        best, where = probabilities[rows].topk(min(width, vocabulary), dim=-1)
        sums = best.cumsum(-1, dtype=torch.float64)
        inside = torch.where(sums - best < wanted[rows], best, 0.0)
        kept[rows] = torch.zeros_like(kept[rows]).scatter_(1, where, inside)
        rows = rows[sums[:, -1] < wanted[rows, 0]] if width < vocabulary else rows[:0]
        width *= 8
    return kept
