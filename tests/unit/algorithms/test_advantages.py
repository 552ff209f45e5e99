"""Group-relative advantages."""

from __future__ import annotations

import pytest
import torch

from agentic_rl.algorithms.advantages import group_relative_advantages


def advantages(rewards, groups, failed=None, **options):
    failed_B = None if failed is None else torch.tensor(failed)
    return group_relative_advantages(torch.tensor(rewards), torch.tensor(groups), failed_B, **options).tolist()


REWARDS, GROUPS = [1.0, 0.0, 0.0, 0.5, 2.0, 1.0, 1.0], [0, 0, 0, 1, 2, 2, 0]


def test_the_golden_numbers_of_verl():
    golden = [0.8660238981, -0.8660238981, -0.8660238981, 0.4999995232, 0.7071057558, -0.7071057558, 0.8660238981]
    assert advantages(REWARDS, GROUPS) == pytest.approx(golden, abs=1e-6)


def test_without_the_deviation():
    golden = [0.5, -0.5, -0.5, 0.5, 0.5, -0.5, 0.5]
    assert advantages(REWARDS, GROUPS, normalise_by_std=False) == pytest.approx(golden)


def test_a_group_of_one_keeps_its_reward():
    assert advantages([3.0], [7]) == pytest.approx([3.0], rel=1e-5)
    assert advantages([3.0], [7], normalise_by_std=False) == [3.0]


@pytest.mark.parametrize("reward", [0.1, 1 / 3, 1e6 + 0.1])
def test_equal_rewards_give_exactly_zero(reward):
    assert advantages([reward] * 7, [0] * 7) == [0.0] * 7


def test_a_failed_member_counts_for_nothing():
    whole = advantages([1.0, 0.0, 1.0], [0, 0, 0])
    assert advantages([1.0, -50.0, 0.0, 1.0], [0, 0, 0, 0], [False, True, False, False]) == [whole[0], 0.0, *whole[1:]]


def test_the_only_whole_member_of_a_group_is_a_group_of_one():
    assert advantages([2.0, 9.0], [0, 0], [False, True]) == pytest.approx([2.0, 0.0], rel=1e-5)


def test_a_group_that_failed_altogether_gives_zeros():
    assert advantages([2.0, 9.0], [0, 0], [True, True]) == [0.0, 0.0]


def test_one_deviating_reward_by_hand():
    # Mean 1/4, unbiased deviation 1/2.
    assert advantages([1.0, 0.0, 0.0, 0.0], [0] * 4, epsilon=0.5) == pytest.approx([0.75, -0.25, -0.25, -0.25])
