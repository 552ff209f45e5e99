from __future__ import annotations

import io
import random

import numpy as np
import torch

from agentic_rl.backends.local import random_states


def draw() -> tuple[float, float, float, float]:
    return random.random(), float(np.random.rand()), float(np.random.randn()), torch.rand(1).item()


def test_restored_generators_draw_the_same_again_after_a_checkpoint_on_the_disk() -> None:
    random_states.seed_all(2**40 + 3)
    draw()
    file = io.BytesIO()
    torch.save(random_states.capture(), file)
    expected = [draw() for _ in range(5)]
    file.seek(0)
    random_states.restore(torch.load(file, weights_only=True))
    assert [draw() for _ in range(5)] == expected


def test_equal_seeds_begin_alike() -> None:
    random_states.seed_all(7)
    first = draw()
    random_states.seed_all(7)
    assert draw() == first
    random_states.seed_all(8)
    assert draw() != first
