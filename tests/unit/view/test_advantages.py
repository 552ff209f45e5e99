from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from agentic_rl.algorithms.advantages import group_relative_advantages
from agentic_rl.view.advantages import advantages_of


@given(st.lists(st.tuples(st.floats(-10, 10), st.booleans()), min_size=1, max_size=16))
def test_they_are_those_of_learning(rollouts: list[tuple[float, bool]]) -> None:
    rewards, failed = [reward for reward, _ in rollouts], [broke for _, broke in rollouts]
    learned = group_relative_advantages(
        torch.tensor(rewards, dtype=torch.float64), torch.zeros(len(rewards), dtype=torch.long), torch.tensor(failed)
    )
    assert advantages_of(rewards, failed) == pytest.approx(learned.tolist(), rel=1e-5, abs=1e-5)


def test_a_reward_that_is_no_number_counts_for_nothing() -> None:
    assert advantages_of([1.0, None, 1.0], [False] * 3) == [0.0, None, 0.0]
