"""Random inputs against an installed verl; skipped where there is none."""

from __future__ import annotations

import warnings

import pytest
import torch
from torch import Tensor

from agentic_rl.algorithms import policy_loss
from agentic_rl.algorithms.advantages import group_relative_advantages
from agentic_rl.algorithms.aggregation import token_weights
from agentic_rl.algorithms.kl import kl_estimate

AGGREGATIONS = ("token-mean", "seq-mean-token-sum", "seq-mean-token-mean")


@pytest.fixture(scope="module")
def core_algos():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # verl's imports are not ours to mend
        return pytest.importorskip("verl.trainer.ppo.core_algos", exc_type=ImportError)


@pytest.fixture
def batch() -> dict[str, Tensor]:
    generator = torch.Generator().manual_seed(3)
    logprobs_BT = -torch.rand(8, 12, generator=generator) * 3
    mask_BT = (torch.rand(8, 12, generator=generator) < 0.7).float()
    mask_BT[:, 0] = 1
    return {
        "log_prob": logprobs_BT,
        "old_log_prob": logprobs_BT + torch.randn(8, 12, generator=generator),
        "advantages": torch.randn(8, 1, generator=generator) * mask_BT,
        "response_mask": mask_BT,
    }


def actor_config():
    from verl.workers.config import ActorConfig

    return ActorConfig(
        strategy="fsdp",
        rollout_n=1,
        ppo_micro_batch_size_per_gpu=1,
        clip_ratio=0.2,
        clip_ratio_low=0.2,
        clip_ratio_high=0.2,
        clip_ratio_c=3.0,
    )


def ours(mode: str, logprobs_N: Tensor, old_logprobs_N: Tensor, advantages_N: Tensor) -> Tensor:
    seen = (logprobs_N, old_logprobs_N, advantages_N)
    if mode == "gpg":
        return policy_loss.policy_gradient(*seen).loss
    if mode == "kl_cov":
        return policy_loss.kl_cov(
            *seen, policy_loss.kl_cov_tokens(logprobs_N, advantages_N, share=0.0002), kl_coef=0.1
        ).loss
    return policy_loss.clipped_surrogate(*seen, clip_ratio=0.2).loss


@pytest.mark.parametrize("aggregation", AGGREGATIONS)
@pytest.mark.parametrize("mode", ["vanilla", "gpg", "kl_cov"])
def test_policy_losses(core_algos, batch, mode, aggregation):
    theirs, _ = core_algos.get_policy_loss_fn(mode)(**batch, loss_agg_mode=aggregation, config=actor_config())
    keep = batch["response_mask"] > 0
    lengths_B = keep.sum(1)
    weights_N = token_weights(lengths_B, aggregation).repeat_interleave(lengths_B)
    losses_N = ours(mode, *(batch[name][keep] for name in ("log_prob", "old_log_prob", "advantages")))
    assert (losses_N * weights_N).sum().item() == pytest.approx(theirs.item(), abs=1e-6)


@pytest.mark.parametrize("kind", ["kl", "abs", "mse", "low_var_kl"])
def test_kl_estimates(core_algos, batch, kind):
    theirs = core_algos.kl_penalty(batch["log_prob"], batch["old_log_prob"], kind)
    torch.testing.assert_close(kl_estimate(batch["log_prob"], batch["old_log_prob"], kind), theirs, rtol=0, atol=1e-6)


@pytest.mark.parametrize("normalise_by_std", [True, False])
def test_advantages(core_algos, normalise_by_std):
    rewards_B = torch.rand(24, generator=torch.Generator().manual_seed(4))
    groups_B = torch.arange(24) // 5  # the last group has four members
    theirs, _ = core_algos.compute_grpo_outcome_advantage(
        rewards_B[:, None].clone(), torch.ones(24, 1), groups_B.numpy(), norm_adv_by_std_in_grpo=normalise_by_std
    )
    found = group_relative_advantages(rewards_B, groups_B, normalise_by_std=normalise_by_std)
    torch.testing.assert_close(found, theirs[:, 0], rtol=0, atol=1e-5)
