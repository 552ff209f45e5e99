from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from agentic_rl.rollout.engines.base import SamplingParams
from agentic_rl.rollout.engines.sampling import Sampler, pick, uniforms

CPU = torch.device("cpu")


def splitmix64(state: int) -> int:
    """The published generator, on Python's integers."""
    mask = (1 << 64) - 1
    z = (state + 0x9E3779B97F4A7C15) & mask
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
    return z ^ (z >> 31)


def test_uniform_numbers_are_splitmix64_of_seed_and_position() -> None:
    assert splitmix64(0) == 0xE220A8397B1DCDAF  # the generator's first number from seed 0
    seeds, positions = [0, 1, -1, 2**62, 123456789], [0, 1, 17, 100_000, 5]
    got = uniforms(torch.tensor(seeds), torch.tensor(positions))
    for seed, position, value in zip(seeds, positions, got.tolist(), strict=True):
        state = splitmix64(seed % 2**64) + position * 0x9E3779B97F4A7C15
        assert value == ((splitmix64(state) >> 14) + 0.5) / 2**50


def test_uniform_numbers_are_uniform() -> None:
    numbers = uniforms(torch.arange(500)[:, None], torch.arange(400))
    counts = torch.histc(numbers.float(), bins=100, min=0, max=1)
    assert ((counts - 2000).square() / 2000).sum() < 149  # chi-square, 99 degrees of freedom, p = .001
    for columns in (numbers, numbers.T):  # neighbours, in position and in seed, are independent
        assert abs(np.corrcoef(columns[:, :-1].flatten(), columns[:, 1:].flatten())[0, 1]) < 0.01


def reference(logits: torch.Tensor, p: SamplingParams) -> torch.Tensor:
    """The distribution that vLLM documents, by sorting: temperature, min_p, top_k, top_p."""
    probabilities = torch.softmax(logits.double() / p.temperature, -1)
    probabilities[probabilities < p.min_p * probabilities.max()] = 0
    order = probabilities.argsort(descending=True)
    if p.top_k > 0:
        probabilities[order[p.top_k :]] = 0
    probabilities /= probabilities.sum()
    before = probabilities[order].cumsum(0) - probabilities[order]
    probabilities[order[before >= p.top_p]] = 0
    return probabilities / probabilities.sum()


PARAMS = [
    SamplingParams(1),
    SamplingParams(1, temperature=0.5),
    SamplingParams(1, temperature=2.0, top_k=7),
    SamplingParams(1, top_p=0.6),
    SamplingParams(1, min_p=0.2),
    SamplingParams(1, temperature=1.5, top_k=20, top_p=0.7, min_p=0.05),
    SamplingParams(1, top_k=1),
    SamplingParams(1, top_k=1000, top_p=1.0),
]


def chi_square(drawn: torch.Tensor, want: torch.Tensor) -> tuple[float, int]:
    """The statistic over the tokens that can be drawn, the rare ones together, and its degrees of freedom."""
    counts = torch.bincount(drawn, minlength=len(want)).double()
    assert counts[want == 0].sum() == 0
    expected = want * len(drawn)
    common = expected >= 5
    cells = [(counts[common], expected[common]), (counts[~common].sum()[None], expected[~common].sum()[None])]
    statistic = sum(float(((c - e).square() / e.clamp(min=1e-9)).sum()) for c, e in cells)
    return statistic, int(common.sum())


@pytest.mark.parametrize(("vocabulary", "draws"), [(60, 20_000), (4200, 2_000)])
def test_rows_are_drawn_from_the_distributions_of_their_own_parameters(vocabulary, draws) -> None:
    """All parameters in one batch; the larger vocabulary takes the two-level search."""
    logits = 3 * torch.randn(vocabulary, generator=torch.Generator().manual_seed(1))
    chunk = 500
    drawn: list[list[torch.Tensor]] = [[] for _ in PARAMS]
    for start in range(0, draws, chunk):
        params = [replace(p, seed=start + i) for p in PARAMS for i in range(chunk)]
        sampler = Sampler(params, CPU)
        tokens, logprobs = sampler.sample(logits.expand(len(params), -1), torch.full((len(params),), 5))
        for index, part in enumerate(tokens.view(len(PARAMS), chunk)):
            drawn[index].append(part)
        assert torch.isfinite(logprobs).all()
    for p, parts in zip(PARAMS, drawn, strict=True):
        statistic, freedom = chi_square(torch.cat(parts), reference(logits, p))
        assert statistic <= freedom + 4 * math.sqrt(2 * freedom) + 8, p


def test_equal_logits_at_the_edge_of_top_k_are_all_kept() -> None:
    logits = torch.tensor([2.0, 1.0, 1.0, 1.0, 0.0]).expand(400, -1)
    sampler = Sampler([SamplingParams(1, top_k=2, seed=i) for i in range(400)], CPU)
    tokens, _ = sampler.sample(logits, torch.zeros(400, dtype=torch.long))
    assert set(tokens.tolist()) == {0, 1, 2, 3}


def test_a_batch_that_stays_together_draws_as_one_that_is_made_anew() -> None:
    logits = torch.randn(70, 3, 40, generator=torch.Generator().manual_seed(2))
    params = [SamplingParams(1, seed=seed) for seed in (7, 8, 2**70)]
    lasting = Sampler(params, CPU)
    for step, step_logits in enumerate(logits):
        positions = torch.tensor([5, 9, 0]) + step
        anew = Sampler(params, CPU).sample(step_logits, positions)
        assert torch.equal(lasting.sample(step_logits, positions)[0], anew[0])


@pytest.mark.parametrize("vocabulary", [50, 5000, 151_936])
def test_no_token_of_probability_zero_is_picked(vocabulary) -> None:
    weights = torch.zeros(6, vocabulary)
    weights[:, vocabulary // 3 :: 7] = torch.rand(6, len(range(vocabulary // 3, vocabulary, 7))) + 1e-30
    weights[0] = 0
    weights[0, -1] = 1e-38
    weights[1] = 0
    weights[1, 0] = 1.0
    edge = 2.0**-51
    for uniform in (edge, 0.25, 0.5, 1 - 2.0**-30, 1 - edge):
        tokens = pick(weights, torch.full((6,), uniform, dtype=torch.float64))
        assert (weights.gather(1, tokens[:, None]) > 0).all()
        assert tokens[:2].tolist() == [vocabulary - 1, 0]


def test_the_tail_of_a_large_vocabulary_keeps_its_probability() -> None:
    """Half the mass on one token, the rest spread over 151,935: in single precision the sums would drift."""
    weights = torch.full((1, 151_936), 0.5 / 151_935)
    weights[0, 0] = 0.5
    uniform = torch.linspace(0.5001, 0.9999, 100, dtype=torch.float64)
    tokens = pick(weights.expand(100, -1), uniform)
    want = 1 + ((uniform - 0.5) * 2 * 151_935).floor()
    assert (tokens - want).abs().max() <= 1


def test_logprobs_are_those_before_truncation() -> None:
    logits = torch.randn(5, 30, generator=torch.Generator().manual_seed(3))
    params = [
        SamplingParams(1, temperature=0.5, top_k=3),
        SamplingParams(1, top_p=0.3),
        SamplingParams(1, temperature=0.0),
        SamplingParams(1, temperature=1e-9, min_p=0.5),
        SamplingParams(1, temperature=3.0, min_p=0.5),
    ]
    tokens, logprobs = Sampler(params, CPU).sample(logits, torch.arange(5))
    temperatures = torch.tensor([0.5, 1.0, 1.0, 1.0, 3.0])[:, None]
    want = torch.log_softmax(logits / temperatures, -1).gather(1, tokens[:, None])[:, 0]
    torch.testing.assert_close(logprobs, want, atol=1e-6, rtol=0)
    assert tokens[2:4].tolist() == logits[2:4].argmax(-1).tolist()
