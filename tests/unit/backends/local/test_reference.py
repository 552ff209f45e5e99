"""The reference model and the KL from it, in the loss and in the reward."""

from __future__ import annotations

import math

import pytest
import torch
from torch.distributions import Categorical, kl_divergence

from agentic_rl.algorithms.advantages import group_relative_advantages
from agentic_rl.backends.local.batches import StepBatch
from agentic_rl.backends.local.layout import Layout
from agentic_rl.backends.local.reference import Reference
from learning_doubles import (
    PAD,
    largest_difference,
    make_learner,
    make_samples,
    reference_logprobs,
    rng,
    tiny_policy,
    weights,
    with_logprobs,
)

KINDS = ["kl", "abs", "mse", "low_var_kl", "full"]


def changed_policy() -> torch.nn.Module:
    """The first policy's sibling: the same shape, other weights."""
    return tiny_policy(seed=3, initializer_range=0.2)


def test_the_reference_does_not_learn():
    policy = tiny_policy()
    learner = make_learner(policy, use_kl_loss=True)
    before = weights(policy)
    learner.update(make_samples(), rng())
    assert largest_difference(before, weights(policy)) > 0
    assert largest_difference(before, learner.state_dict()["reference"]) == 0


def test_no_reference_is_made_where_none_is_asked_for():
    assert make_learner(tiny_policy()).state_dict()["reference"] is None


@pytest.mark.parametrize("kind", KINDS)
def test_a_policy_has_no_divergence_from_itself(kind):
    policy = tiny_policy()
    samples = with_logprobs(policy, make_samples())
    metrics = make_learner(policy, use_kl_loss=True, kl_loss_type=kind, ppo_mini_batch_size=100).update(samples, rng())
    assert metrics["policy/reference_kl"] == pytest.approx(0.0, abs=1e-5)


# Not `kl`: the gradient of k1 is 0 on average, so that as a loss it holds nothing back.
@pytest.mark.parametrize("kind", KINDS[1:])
def test_kl_in_the_loss_holds_the_policy_back(kind):
    def distance(coefficient: float) -> float:
        policy = tiny_policy()
        before = weights(policy)
        learner = make_learner(policy, use_kl_loss=True, kl_loss_type=kind, kl_loss_coeff=coefficient, lr=3e-3)
        for step in range(6):
            learner.update(make_samples(), rng(step))
        return sum((before[name] - weight).square().sum().item() for name, weight in weights(policy).items())

    assert distance(1.0) < distance(0.0)


def test_full_kl_is_torchs_kl_of_the_two_distributions():
    policy, temperature = changed_policy(), 0.8
    samples = make_samples()
    reference = Reference(tiny_policy(), temperature)
    batch = StepBatch(samples, Layout.of(policy, PAD), torch.device("cpu"))
    found_N = reference.kl_of_batch(policy, batch, torch.zeros(len(batch.sample_N)), "full", max_tokens=70)
    expected = []
    for sample in samples:
        tokens = torch.tensor([sample.tokens])
        with torch.no_grad():
            ours, theirs = (
                Categorical(logits=model(tokens).logits[0] / temperature) for model in (policy, reference.model)
            )
        divergences = kl_divergence(ours, theirs)[sample.prompt_length - 1 : -1]
        expected.append(divergences[torch.tensor(sample.mask) > 0])
    torch.testing.assert_close(found_N, torch.cat(expected), rtol=0, atol=1e-5)


def test_kl_in_the_reward_takes_the_summed_estimate_off():
    first, policy = tiny_policy(), changed_policy()
    samples = with_logprobs(policy, make_samples())
    learner = make_learner(first, use_kl_in_reward=True, kl_coef=0.3, ppo_mini_batch_size=100)
    first.load_state_dict(policy.state_dict())  # the policy has moved on; the reference has not
    batch = StepBatch(samples, Layout(PAD), torch.device("cpu"))
    reference = tiny_policy()
    divergences = [
        sum(
            sampled - own
            for sampled, own, written in zip(
                sample.logprobs, reference_logprobs(reference, sample).tolist(), sample.mask, strict=True
            )
            if written
        )
        for sample in samples
    ]
    rewards_B = batch.rewards_B - 0.3 * torch.tensor(divergences)
    expected_N = group_relative_advantages(rewards_B, batch.groups_B)[batch.sample_N]
    metrics = learner.update(samples, rng())
    assert metrics["policy/kl_coef"] == pytest.approx(0.3)
    lengths = [sum(sample.mask) for sample in samples]
    means = [kl / length for kl, length in zip(divergences, lengths, strict=True)]
    assert metrics["policy/reference_kl"] == pytest.approx(math.fsum(means) / len(means), abs=1e-5)
    # Ratios are 1 in the only update: its loss is minus the mean advantage of the tokens.
    assert metrics["policy/loss"] == pytest.approx(-expected_N.mean().item(), abs=1e-5)


def test_the_adaptive_coefficient_moves_by_the_samples_of_the_step():
    policy = tiny_policy()
    learner = make_learner(policy, use_kl_in_reward=True, kl_ctrl_type="adaptive", kl_coef=0.05, kl_horizon=100)
    learner.update(with_logprobs(policy, make_samples()), rng())
    # No divergence yet, the error is limited to -0.2; 16 samples of a horizon of 100.
    assert learner.state_dict()["kl_coef"] == pytest.approx(0.05 * (1 - 0.2 * 16 / 100))
