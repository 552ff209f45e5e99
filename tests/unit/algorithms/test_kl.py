"""KL estimates, the exact KL and its controllers."""

from __future__ import annotations

import math

import pytest
import torch
from torch.distributions import Categorical, kl_divergence

from agentic_rl.algorithms.kl import AdaptiveKLController, FixedKLController, exact_kl, kl_estimate

GOLDEN_SUMS = {
    "kl": 4.38409225282475,
    "abs": 6.46227281993489,
    "mse": 1.9229098879487707,
    "low_var_kl": 1.565627364827293,
}


@pytest.mark.parametrize("kind", GOLDEN_SUMS)
def test_the_golden_sums_of_verl(tokens, kind):
    logprobs_N, old_logprobs_N, _ = tokens.flat
    assert kl_estimate(logprobs_N, old_logprobs_N, kind).sum().item() == pytest.approx(GOLDEN_SUMS[kind], abs=1e-9)


@pytest.mark.parametrize(
    ("kind", "value"),
    [("kl", math.log(2)), ("abs", math.log(2)), ("mse", math.log(2) ** 2 / 2), ("low_var_kl", 0.5 + math.log(2) - 1)],
)
def test_estimates_by_hand_where_the_policy_is_twice_as_sure(kind, value):
    logprob, reference = torch.tensor(math.log(0.5)), torch.tensor(math.log(0.25))
    assert kl_estimate(logprob, reference, kind).item() == pytest.approx(value)


def test_the_low_variance_estimate_is_bounded():
    far = torch.tensor([-500.0, 0.0])
    assert kl_estimate(far, far.flip(0), "low_var_kl").tolist() == [10.0, 10.0]


def test_exact_kl_is_torchs():
    generator = torch.Generator().manual_seed(0)
    logits, reference = torch.randn(2, 5, 7, 11, generator=generator, dtype=torch.float64) * 3
    expected = kl_divergence(Categorical(logits=logits), Categorical(logits=reference))
    torch.testing.assert_close(exact_kl(logits, reference), expected, rtol=1e-12, atol=1e-12)


def test_exact_kl_ignores_what_the_policy_cannot_write():
    logits, reference = torch.tensor([0.0, 0.0, -torch.inf]), torch.tensor([0.0, 0.0, 0.0])
    assert exact_kl(logits, reference).item() == pytest.approx(math.log(1.5))
    assert exact_kl(logits, logits).item() == 0.0


def test_the_gradient_of_exact_kl_pulls_towards_the_reference():
    logits = torch.zeros(3, requires_grad=True)
    exact_kl(logits, torch.tensor([2.0, 0.0, 0.0])).backward()
    assert logits.grad[0] < 0 < logits.grad[1]


def test_estimates_average_to_the_exact_kl():
    generator = torch.Generator().manual_seed(1)
    logits, reference = torch.randn(2, 8, generator=generator, dtype=torch.float64)
    logprobs, reference_logprobs = logits.log_softmax(-1), reference.log_softmax(-1)
    for kind in ("kl", "low_var_kl"):
        mean = (logprobs.exp() * kl_estimate(logprobs, reference_logprobs, kind)).sum()
        assert mean.item() == pytest.approx(exact_kl(logits, reference).item())


def test_the_adaptive_controller_has_verls_golden_numbers():
    controller = AdaptiveKLController(0.05, target=0.1, horizon=10000)
    values = []
    for measured in (0.3, 0.05, 0.11):
        controller.update(measured, 256)
        values.append(controller.value)
    assert values == pytest.approx([0.050256, 0.04999868928, 0.050126685924556796], abs=1e-15)


def test_the_fixed_controller_stays():
    controller = FixedKLController(0.05)
    controller.update(100.0, 256)
    assert controller.value == 0.05
