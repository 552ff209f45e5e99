"""Samples as tensors, mini batches."""

from __future__ import annotations

import pytest
import torch

from agentic_rl.backends.local.batches import Sample, StepBatch, mini_batches
from agentic_rl.backends.local.layout import Layout
from learning_doubles import PAD, make_samples, rng

CPU = torch.device("cpu")


def batch_of(*samples: Sample) -> StepBatch:
    return StepBatch(samples, Layout(PAD), CPU)


def test_only_what_the_policy_wrote_counts():
    batch = batch_of(Sample([5, 6, 7, 8, 9], 2, [1, 0, 1], [-0.1, 0.0, -0.3]), Sample([5, 4], 1, [1], [-0.2]))
    assert batch.written_B.tolist() == [2, 1]
    assert batch.sample_N.tolist() == [0, 0, 1]
    assert batch.sampled_logprobs().tolist() == pytest.approx([-0.1, -0.3, -0.2])


def test_a_failed_sample_has_no_written_tokens_and_needs_no_logprobs():
    batch = batch_of(Sample([5, 6], 1, [1], [-0.5]), Sample([5, 6], 1, [1], failed=True))
    assert batch.written_B.tolist() == [1, 0]
    assert batch.failed_B.tolist() == [False, True]
    assert batch.sampled_logprobs().tolist() == [-0.5]


def test_one_sample_without_logprobs_and_none_are_known():
    assert batch_of(Sample([5, 6], 1, [1], [-0.5]), Sample([5, 6], 1, [1])).sampled_logprobs() is None


def test_mini_batches_hold_whole_groups_and_every_sample_once():
    groups = [sample.group for sample in make_samples(groups=7, members=3)]
    batches = mini_batches(groups, 2, rng())
    assert sorted(row for rows in batches for row in rows) == list(range(21))
    assert [len({groups[row] for row in rows}) for rows in batches] == [2, 2, 2, 1]
    assert all(len(rows) == 3 * len({groups[row] for row in rows}) for rows in batches)


def test_mini_batches_are_as_even_as_possible():
    assert [len(rows) for rows in mini_batches(range(9), 4, rng())] == [3, 3, 3]


def test_a_mini_batch_larger_than_the_batch_is_the_batch():
    assert sorted(mini_batches([0, 0, 1], 16, rng())[0]) == [0, 1, 2]


def test_equal_seeds_give_equal_orders():
    assert mini_batches(range(40), 10, rng(1)) == mini_batches(range(40), 10, rng(1))
    assert mini_batches(range(40), 10, rng(1)) != mini_batches(range(40), 10, rng(2))
