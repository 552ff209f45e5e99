"""Learning-rate factors; the lists are those of verl 0.9.1's schedulers."""

from __future__ import annotations

import pytest

from agentic_rl.algorithms import schedules


def test_constant_with_warmup():
    factors = [schedules.constant(step, 4) for step in range(7)]
    assert factors == [0.0, 0.25, 0.5, 0.75, 1.0, 1.0, 1.0]


def test_constant_without_warmup_is_full_from_the_first_step():
    assert schedules.constant(0, 0) == 1.0


def test_cosine_falls_to_its_least():
    factors = [schedules.cosine(step, 2, 10, min_ratio=0.1) for step in range(11)]
    golden = [0, 0.5, 1, 0.96574579, 0.868198052, 0.722207545, 0.55, 0.377792455, 0.231801948, 0.13425421, 0.1]
    assert factors == pytest.approx(golden, abs=1e-8)


def test_cosine_of_a_whole_cycle_rises_again():
    factors = [schedules.cosine(step, 2, 10, cycles=1.0) for step in range(11)]
    golden = [0, 0.5, 1, 0.853553391, 0.5, 0.146446609, 0, 0.146446609, 0.5, 0.853553391, 1]
    assert factors == pytest.approx(golden, abs=1e-8)


@pytest.mark.parametrize(("fraction", "total", "steps"), [(0.0, 40, 0), (0.125, 40, 5), (0.1, 39, 3), (1.0, 7, 7)])
def test_warmup_steps_round_down(fraction, total, steps):
    assert schedules.warmup_steps(fraction, total) == steps


def test_a_warmup_of_the_whole_training_never_divides_by_zero():
    assert schedules.cosine(7, 7, 7) == 1.0
