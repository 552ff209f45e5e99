"""The learner on a tiny model: what an update does, and what it must not depend on."""

from __future__ import annotations

import io
import logging
import pickle
from dataclasses import replace

import pytest
import torch
from transformers import PreTrainedModel

from agentic_rl.algorithms.advantages import group_relative_advantages
from agentic_rl.backends.local.batches import Sample, StepBatch
from agentic_rl.backends.local.layout import Layout
from agentic_rl.backends.local.learner import Learner, NonFiniteLossError, _advantages
from agentic_rl.backends.local.objective import Objective
from learning_doubles import (
    largest_difference,
    make_learner,
    make_samples,
    reference_logprobs,
    rng,
    tiny_policy,
    weights,
    with_logprobs,
)

ONE_UPDATE = {"ppo_mini_batch_size": 100}


def gradients(policy: PreTrainedModel) -> dict[str, torch.Tensor]:
    return {name: parameter.grad.clone() for name, parameter in policy.named_parameters()}


def update_once(samples: list[Sample], **changes) -> tuple[dict[str, torch.Tensor], dict[str, float]]:
    """Gradient and metrics of a single optimizer update of a fresh policy."""
    policy = tiny_policy()
    metrics = make_learner(policy, **ONE_UPDATE, **changes).update(samples, rng())
    return gradients(policy), metrics


def off_policy() -> list[Sample]:
    """Samples whose log-probabilities are those of another policy, so that ratios are not 1."""
    return with_logprobs(tiny_policy(seed=1, initializer_range=0.3), make_samples())


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"entropy_coeff": 0.1},
        {"entropy_coeff": 0.1, "entropy_from_logits_with_chunking": True},
        {"loss_agg_mode": "seq-mean-token-sum"},
        {"loss_agg_mode": "seq-mean-token-mean", "temperature": 0.7},
        {"policy_loss_model": "gpg"},
        {"policy_loss_model": "clip-cov", "policy_loss_clip_cov_ratio": 0.1, "policy_loss_clip_cov_lb": 1e-9},
        {"policy_loss_model": "kl-cov", "policy_loss_kl_cov_ratio": 0.1},
        {"use_kl_loss": True, "kl_loss_coeff": 0.5, "kl_loss_type": "full"},
        {"use_kl_in_reward": True},
    ],
    ids=lambda changes: "-".join(str(value) for value in changes.values()) or "default",
)
def test_micro_batches_change_nothing(changes):
    samples = off_policy()
    whole, whole_metrics = update_once(samples, **changes)
    for size in (1, 60):
        parts, metrics = update_once(samples, ppo_max_token_len_per_gpu=size, **changes)
        assert largest_difference(whole, parts) < 1e-6
        assert metrics == pytest.approx(whole_metrics, abs=1e-6)


@pytest.mark.parametrize("mode", ["vanilla", "gpg"])
def test_leaving_out_samples_without_advantage_changes_nothing(mode, monkeypatch):
    samples = off_policy()
    for sample in samples:
        if sample.group < 2:
            sample.reward = 1.0
    dropped, _ = update_once(samples, policy_loss_model=mode)
    monkeypatch.setattr(Objective, "ignores_zero_advantage", False)
    kept, _ = update_once(samples, policy_loss_model=mode)
    assert largest_difference(dropped, kept) < 1e-7


@pytest.mark.parametrize(
    "changes",
    [{"entropy_coeff": 0.1}, {"use_kl_loss": True}, {"policy_loss_model": "clip-cov"}, {"policy_loss_model": "kl-cov"}],
)
def test_samples_without_advantage_stay_where_they_have_a_say(changes):
    learner = make_learner(tiny_policy(), **changes)
    assert not learner._objective.ignores_zero_advantage


def test_rewarded_tokens_become_more_probable():
    policy = tiny_policy()
    prompt = [3, 4, 5]
    samples = [Sample([*prompt, token, 2], 3, [1, 1], [], float(token == 7)) for token in (7, 8, 9, 10)]
    before = reference_logprobs(policy, samples[0])[0].item()
    learner = make_learner(policy, ppo_epochs=2)
    for step in range(5):
        learner.update(with_logprobs(policy, samples), rng(step))
    assert reference_logprobs(policy, samples[0])[0].item() > before + 0.5


def test_shown_tokens_are_not_learned():
    shown = [Sample([3, 4, 5, token, 6], 2, [1, 0, 1], [], float(token)) for token in (7, 8)]
    other = [Sample([3, 4, 5, token, 6], 2, [1, 0, 1], [], 1.0) for token in (7, 8)]
    learned, metrics = update_once([*shown, *other])
    assert metrics["policy/grad_norm"] > 0
    assert learned["model.embed_tokens.weight"][9].abs().max() > 0  # the softmax reaches every token
    only_shown = [Sample([3, 4, 5], 2, [0], [], reward) for reward in (0.0, 1.0)]
    _, metrics = update_once(only_shown)
    assert set(metrics) == {"policy/lr"}


def test_without_log_probabilities_the_policys_own_are_taken():
    known, known_metrics = update_once(with_logprobs(tiny_policy(), make_samples()))
    recomputed, metrics = update_once(make_samples())
    assert largest_difference(known, recomputed) < 1e-6
    assert known_metrics["policy/logprob_difference"] < 1e-6
    assert "policy/logprob_difference" not in metrics


def test_a_difference_between_rollout_and_training_is_measured_and_warned_of(caplog):
    samples = with_logprobs(tiny_policy(), make_samples())
    for sample in samples:
        sample.logprobs = [logprob - 0.2 for logprob in sample.logprobs]
    with caplog.at_level(logging.WARNING):
        _, metrics = update_once(samples)
    assert metrics["policy/logprob_difference"] == pytest.approx(0.2, abs=1e-5)
    assert "differ by 0.200" in caplog.text


def test_the_temperature_divides_the_logits():
    policy = tiny_policy(initializer_range=0.3)
    samples = with_logprobs(policy, make_samples(), temperature=0.5)
    metrics = make_learner(policy, temperature=0.5, **ONE_UPDATE).update(samples, rng())
    assert metrics["policy/logprob_difference"] < 1e-5


def test_failed_samples_are_not_learned_from():
    samples = make_samples()
    clean, _ = update_once(samples)
    broken = Sample([1, 2, 3], 1, [1, 1], reward=50.0, group=0, failed=True)
    with_failure, _ = update_once([*samples, broken])
    assert largest_difference(clean, with_failure) < 1e-7


def test_parts_of_one_trajectory_count_once_in_their_group():
    whole = [Sample([3, 4, 5, token, 6], 3, [1, 1], [], reward) for token, reward in ((7, 1.0), (8, 0.0), (9, 0.0))]
    shown = [Sample([3, 4, 5], 2, [0], [], 1.0, trajectory=0) for _ in range(5)]  # parts that teach nothing themselves
    clean, _ = update_once(whole)
    divided, _ = update_once([replace(whole[0], trajectory=0), *shown, *whole[1:]])
    assert largest_difference(clean, divided) < 1e-7


def test_parts_with_prompts_of_their_own_are_learned_whatever_the_micro_batches():
    parts = [([3, 4, 5], [7, 2], [1, 1]), ([3, 4, 5, 7, 2, 9], [8, 8, 2], [1, 0, 1]), ([11], [12], [1])]
    divided = [
        Sample([*prompt, *response], len(prompt), mask, [], 1.0, 0, trajectory=0) for prompt, response, mask in parts
    ]
    others = [Sample([3, 4, 5, token, 2], 3, [1, 1], [], reward) for token, reward in ((8, 0.0), (9, 0.5))]
    samples = with_logprobs(tiny_policy(), [*divided, *others])
    whole, whole_metrics = update_once(samples)
    assert whole_metrics["policy/logprob_difference"] < 1e-6
    for size in (1, 12):
        again, metrics = update_once(samples, ppo_max_token_len_per_gpu=size)
        assert largest_difference(whole, again) < 1e-6
        assert metrics == pytest.approx(whole_metrics, abs=1e-6)


def test_every_part_has_the_advantage_of_its_trajectory():
    parts = [Sample([1, 2, 3], 1, [1, 1], [], 1.0, trajectory=4) for _ in range(2)]
    other = Sample([1, 2, 3], 1, [1, 1], [], 0.0, trajectory=2)
    batch = StepBatch([parts[0], other, parts[1]], Layout(0), torch.device("cpu"))
    penalty_B = torch.tensor([0.25, 0.5, 0.75], dtype=torch.float64)
    expected = group_relative_advantages(torch.tensor([0.0, -0.5]), torch.tensor([0, 0]))
    assert _advantages(batch, penalty_B).tolist() == [expected[0], expected[1], expected[0]]


@pytest.mark.parametrize("samples", [[], [Sample([1, 2], 1, [1], failed=True)]], ids=["none", "all failed"])
def test_a_step_without_anything_to_learn_changes_nothing(samples):
    policy = tiny_policy()
    before = weights(policy)
    learner = make_learner(policy, lr=0.5)
    assert learner.update(samples, rng()) == {"policy/lr": 0.5}
    assert largest_difference(before, weights(policy)) == 0
    assert learner.state_dict()["step"] == 1


@pytest.mark.parametrize("mode", ["vanilla", "gpg", "clip-cov", "kl-cov"])
def test_a_mini_batch_of_failed_samples_only_is_an_update_without_gradient(mode):
    samples = make_samples(groups=2)
    for sample in samples[:4]:
        sample.failed = True
    learner = make_learner(tiny_policy(), policy_loss_model=mode, ppo_mini_batch_size=1)
    learner.update(samples, rng())
    assert {state["step"].item() for state in learner.state_dict()["optimizer"]["state"].values()} == {2}


def test_every_mini_batch_of_every_epoch_is_one_update():
    learner = make_learner(tiny_policy(), ppo_mini_batch_size=3, ppo_epochs=3)
    learner.update(make_samples(groups=8), rng())
    assert {state["step"].item() for state in learner.state_dict()["optimizer"]["state"].values()} == {9}


def test_an_update_without_gradient_is_still_one_of_adamw():
    policy = tiny_policy()
    samples = make_samples()
    for sample in samples:
        sample.reward = 1.0
    before = weights(policy)
    make_learner(policy, weight_decay=0.5, lr=0.1, **ONE_UPDATE).update(samples, rng())
    for name, weight in weights(policy).items():
        torch.testing.assert_close(weight, before[name] * (1 - 0.05))


def test_the_entropy_bonus_raises_entropy():
    policy = tiny_policy(initializer_range=0.5)
    learner = make_learner(policy, entropy_coeff=1.0, lr=1e-2)
    entropies = [learner.update(make_samples(), rng(step))["policy/entropy"] for step in range(4)]
    assert entropies == sorted(entropies)
    assert entropies[-1] > entropies[0] + 0.1


def test_gradients_are_clipped_to_grad_clip():
    clipped, metrics = update_once(off_policy(), grad_clip=1e-3)
    norm = torch.stack([gradient.norm() for gradient in clipped.values()]).norm().item()
    assert metrics["policy/grad_norm"] > 1e-3
    assert norm == pytest.approx(1e-3, rel=1e-3)


def test_the_learning_rate_counts_training_steps():
    learner = make_learner(
        tiny_policy(), total_steps=10, lr=1.0, min_lr=0.1, lr_warmup_fraction=0.2, warmup_style="cosine", ppo_epochs=2
    )
    rates = [learner.update([], rng())["policy/lr"] for _ in range(11)]
    golden = [0, 0.5, 1, 0.96574579, 0.868198052, 0.722207545, 0.55, 0.377792455, 0.231801948, 0.13425421, 0.1]
    assert rates == pytest.approx(golden, abs=1e-6)


@pytest.mark.parametrize(
    "changes",
    [
        {"warmup_style": "cosine", "weight_decay": 0.1, "entropy_coeff": 0.01},
        {"use_kl_in_reward": True, "kl_ctrl_type": "adaptive", "kl_horizon": 50},
        {"use_kl_loss": True},
        {"policy_loss_model": "clip-cov", "policy_loss_clip_cov_lb": 1e-9, "policy_loss_clip_cov_ratio": 0.1},
    ],
    ids=["plain", "kl-in-reward", "kl-in-loss", "clip-cov"],
)
def test_a_resumed_learner_goes_on_bit_for_bit(changes):
    def run(learner: Learner, steps: range) -> None:
        for step in steps:
            learner.update(make_samples(seed=step), rng(step))

    straight = tiny_policy()
    run(make_learner(straight, ppo_mini_batch_size=2, **changes), range(5))

    stopped = tiny_policy()
    learner = make_learner(stopped, ppo_mini_batch_size=2, **changes)
    run(learner, range(2))
    saved = io.BytesIO()
    torch.save(learner.state_dict(), saved)
    saved.seek(0)

    resumed = tiny_policy(seed=5)  # other weights, and so another reference, until the state is loaded
    learner = make_learner(resumed, ppo_mini_batch_size=2, **changes)
    resumed.load_state_dict(stopped.state_dict())
    learner.load_state_dict(torch.load(saved, weights_only=True))
    run(learner, range(2, 5))
    assert largest_difference(weights(straight), weights(resumed)) == 0


def test_a_loss_that_is_not_finite_stops_before_the_update():
    policy = tiny_policy()
    samples = with_logprobs(policy, make_samples())
    samples[5].logprobs[0] = float("nan")
    before = weights(policy)
    learner = make_learner(policy, **ONE_UPDATE)
    with pytest.raises(NonFiniteLossError) as caught:
        learner.update(samples, rng())
    assert (caught.value.quantity, caught.value.step, caught.value.samples) == ("loss", 0, [samples[5]])
    assert largest_difference(before, weights(policy)) == 0
    assert not learner.state_dict()["optimizer"]["state"]


def test_a_gradient_that_is_not_finite_stops_before_the_update():
    policy = tiny_policy()
    policy.model.norm.weight.register_hook(lambda gradient: gradient * torch.inf)
    before = weights(policy)
    samples = off_policy()
    with pytest.raises(NonFiniteLossError, match="gradient norm of training step 0 is not finite") as caught:
        make_learner(policy, entropy_coeff=0.1, **ONE_UPDATE).update(samples, rng())
    assert len(caught.value.samples) == len(samples)
    assert largest_difference(before, weights(policy)) == 0


def test_the_error_survives_pickling():
    error = NonFiniteLossError("loss", 3, make_samples(groups=1))
    copied = pickle.loads(pickle.dumps(error))
    assert (copied.quantity, copied.step, copied.samples, str(copied)) == ("loss", 3, error.samples, str(error))
