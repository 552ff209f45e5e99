"""Identities of the mathematics of learning that hold for any numbers."""

from __future__ import annotations

import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from torch import Tensor

from agentic_rl.algorithms.advantages import group_relative_advantages
from agentic_rl.algorithms.aggregation import token_weights
from agentic_rl.algorithms.entropy import entropy
from agentic_rl.algorithms.kl import AdaptiveKLController, exact_kl, kl_estimate
from agentic_rl.algorithms.policy_loss import clipped_surrogate, kl_cov_tokens, policy_gradient
from agentic_rl.algorithms.schedules import cosine
from agentic_rl.backends.local.batches import Sample, StepBatch, mini_batches
from agentic_rl.backends.local.forward import logprobs_of
from agentic_rl.backends.local.layout import Layout
from learning_doubles import PAD, VOCABULARY, reference_logprobs, rng, tiny_policy

REWARDS = st.floats(-100, 100, width=32)
LOGPROBS = st.floats(-30, 0, width=32)
GROUPED = st.lists(st.tuples(REWARDS, st.integers(0, 4), st.booleans()), min_size=1, max_size=30)


def advantages(rows: list[tuple[float, int, bool]], **options: bool) -> Tensor:
    rewards, groups, failed = (torch.tensor(column) for column in zip(*rows, strict=True))
    return group_relative_advantages(rewards, groups, failed, **options)


@given(GROUPED, st.booleans())
def test_the_advantages_of_a_group_sum_to_zero(rows, normalise_by_std):
    found = advantages(rows, normalise_by_std=normalise_by_std)
    for group in {group for _, group, _ in rows}:
        members = [place for place, (_, other, failed) in enumerate(rows) if other == group and not failed]
        if len(members) > 1:
            assert abs(found[members].sum().item()) < 1e-3
    assert all(found[place] == 0 for place, (_, _, failed) in enumerate(rows) if failed)


@given(GROUPED, st.randoms(use_true_random=False))
def test_the_order_of_samples_does_not_matter(rows, random):
    order = list(range(len(rows)))
    random.shuffle(order)
    shuffled = advantages([rows[place] for place in order])
    torch.testing.assert_close(shuffled, advantages(rows)[order], rtol=1e-4, atol=1e-4)


@given(st.lists(st.integers(-50, 50), min_size=2, max_size=10), st.integers(-1000, 1000), st.integers(1, 9))
def test_shifted_and_scaled_rewards_have_the_same_advantages(rewards, shift, scale):
    moved = [(float(scale * reward + shift), 0, False) for reward in rewards]
    plain = [(float(reward), 0, False) for reward in rewards]
    torch.testing.assert_close(advantages(moved), advantages(plain), rtol=1e-5, atol=1e-5)


@given(st.lists(st.tuples(LOGPROBS, LOGPROBS), min_size=1, max_size=20))
def test_k2_k3_and_abs_are_never_negative(pairs):
    logprobs, reference = torch.tensor(pairs).T
    for kind in ("abs", "mse", "low_var_kl"):
        assert (kl_estimate(logprobs, reference, kind) >= -1e-6).all()
    torch.testing.assert_close(kl_estimate(logprobs, reference, "kl"), -kl_estimate(reference, logprobs, "kl"))


LOGITS = st.lists(st.tuples(st.floats(-20, 20), st.floats(-20, 20)), min_size=2, max_size=12)


@given(LOGITS)
def test_exact_kl_and_entropy_are_bounded(pairs):
    logits, reference = torch.tensor(pairs, dtype=torch.float64).T
    assert exact_kl(logits, reference) >= -1e-12
    assert abs(exact_kl(logits, logits + 3.0)) < 1e-12
    assert -1e-9 <= entropy(logits[None]).item() <= torch.tensor(len(pairs)).log().item() + 1e-5
    cross = -(logits.softmax(0) * reference.log_softmax(0)).sum()
    torch.testing.assert_close(exact_kl(logits, reference), cross - entropy(logits[None])[0], rtol=1e-5, atol=1e-8)


@given(st.lists(st.tuples(LOGPROBS, LOGPROBS, REWARDS), min_size=1, max_size=20), st.floats(0.01, 0.9))
def test_clipping_is_pessimistic_and_bounded(rows, clip_ratio):
    logprobs, old, weights = torch.tensor(rows).T
    found = clipped_surrogate(logprobs, old, weights, clip_ratio=clip_ratio)
    unclipped = -weights * (logprobs - old).clamp(-20, 20).exp()
    bounded = torch.minimum(unclipped, -3.0 * weights)
    assert (found.loss >= torch.where(weights < 0, bounded, unclipped) - 1e-3).all()
    assert (found.loss[weights < 0] <= -3.0 * weights[weights < 0] + 1e-3).all()
    assert (found.loss[weights == 0] == 0).all()


@given(st.lists(st.tuples(LOGPROBS, REWARDS), min_size=1, max_size=20))
def test_before_any_update_ppo_and_the_policy_gradient_agree(rows):
    logprobs, weights = torch.tensor(rows, dtype=torch.float64).T
    gradients = []
    for loss in (clipped_surrogate, policy_gradient):
        leaf = logprobs.clone().requires_grad_()
        options = {"clip_ratio": 0.2} if loss is clipped_surrogate else {}
        loss(leaf, logprobs, weights, **options).loss.sum().backward()
        gradients.append(leaf.grad)
    torch.testing.assert_close(*gradients)


@given(st.lists(st.tuples(LOGPROBS, REWARDS), min_size=1, max_size=40), st.floats(1e-4, 1.0))
def test_kl_cov_takes_its_share_and_at_least_one(rows, share):
    logprobs, weights = torch.tensor(rows).T
    assert kl_cov_tokens(logprobs, weights, share=share).sum() == max(1, int(share * len(rows)))


@given(st.lists(st.integers(0, 50), min_size=1, max_size=20))
def test_a_constant_loss_is_its_own_mean(lengths):
    assume(any(lengths))
    lengths_B = torch.tensor(lengths)
    for mode in ("token-mean", "seq-mean-token-mean"):
        assert (token_weights(lengths_B, mode) * lengths_B).sum().item() == pytest.approx(1, rel=1e-5)


@given(st.floats(0, 10), st.integers(1, 5000))
def test_the_adaptive_coefficient_moves_towards_its_target_and_not_too_fast(measured, samples):
    controller = AdaptiveKLController(1.0, target=0.1, horizon=10000)
    controller.update(measured, samples)
    assert (controller.value >= 1) if measured >= 0.1 else (controller.value <= 1)
    assert abs(controller.value - 1) <= 0.2 * samples / 10000 + 1e-12


@given(st.integers(0, 400), st.integers(0, 100), st.integers(1, 300), st.floats(0, 1), st.floats(0.1, 5))
def test_a_cosine_stays_between_its_bounds(step, warmup, total, min_ratio, cycles):
    factor = cosine(step, warmup, total, min_ratio=min_ratio, cycles=cycles)
    assert (0 if step < warmup else min_ratio) <= factor <= 1 + 1e-12


@given(st.lists(st.integers(0, 6), min_size=1, max_size=40), st.integers(1, 9), st.integers(0, 9))
def test_mini_batches_part_the_samples(groups, size, seed):
    batches = mini_batches(groups, size, rng(seed))
    assert sorted(row for rows in batches for row in rows) == list(range(len(groups)))
    assert all(1 <= len({groups[row] for row in rows}) <= size for rows in batches)


TOKENS = st.integers(0, VOCABULARY - 1)
SAMPLES = st.lists(
    st.tuples(
        st.sampled_from([[1, 2, 3], [1, 2, 3, 4], [7]]),
        st.lists(st.tuples(TOKENS, st.booleans()), min_size=1, max_size=8),
    ),
    min_size=1,
    max_size=9,
)
POLICY = tiny_policy(initializer_range=0.2)


@given(SAMPLES, st.sampled_from([None, 10.0, 1e9]), st.integers(1, 120))
def test_no_layout_changes_a_log_probability(rows, attention_worth, max_tokens):
    samples = [
        Sample([*prompt, *(token for token, _ in response)], len(prompt), [int(wrote) for _, wrote in response])
        for prompt, response in rows
    ]
    batch = StepBatch(samples, Layout(PAD, attention_worth), torch.device("cpu"))
    found = logprobs_of(POLICY, batch, range(len(samples)), max_tokens=max_tokens, temperature=1.0)
    alone = [reference_logprobs(POLICY, sample)[torch.tensor(sample.mask) > 0] for sample in samples]
    torch.testing.assert_close(found, torch.cat(alone), rtol=0, atol=1e-5)
