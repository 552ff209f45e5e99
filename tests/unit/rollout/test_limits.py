from __future__ import annotations

import pytest

from agentic_rl.agents import PromptTooLongError
from agentic_rl.rollout.limits import Limits, Truncation
from rollout_doubles import make_task


def limits(truncation: Truncation = "error", **changes: float) -> Limits:
    settings = {"max_prompt_length": 5, "max_response_length": 50, "max_tokens": 20, "max_steps": 3, **changes}
    return Limits(truncation=truncation, **settings)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("truncation", "kept"), [("left", [3, 4, 5, 6, 7]), ("right", [0, 1, 2, 3, 4]), ("middle", [0, 1, 5, 6, 7])]
)
def test_truncation_of_long_prompts(truncation: Truncation, kept: list[int]) -> None:
    assert list(limits(truncation).fitted(range(8), make_task())) == kept
    assert list(limits(truncation).fitted(range(5), make_task())) == [0, 1, 2, 3, 4]


def test_an_error_names_the_row_and_the_remedy() -> None:
    task = make_task("a" * 100, idx=7, data_source="gsm8k")
    with pytest.raises(PromptTooLongError, match=r"prompt 7 of gsm8k \('aaa.*\.\.\.'\) has 6 tokens, .* is 5; raise"):
        limits().fitted(range(6), task)


def test_the_budget_of_a_turn_is_the_smallest_of_all() -> None:
    def tokens(room: int, **asked: int) -> int:
        return limits().sampling(make_task(), 0, room, (1,), asked).max_tokens

    assert tokens(100) == 20
    assert tokens(7) == 7
    assert tokens(100, max_tokens=9) == 9
    assert tokens(100, max_tokens=99) == 20


def test_a_call_may_choose_its_sampling_but_not_everything() -> None:
    params = limits(temperature=0.7).sampling(make_task(), 0, 9, (1,), {"top_k": 5, "temperature": 0.2})
    assert (params.top_k, params.temperature, params.top_p, params.stop_token_ids) == (5, 0.2, 1.0, (1,))
    with pytest.raises(TypeError, match=r"does not know best_of; a call may choose max_tokens, min_p"):
        limits().sampling(make_task(), 0, 9, (1,), {"best_of": 5})


def test_greedy_tasks_are_greedy_whatever_a_call_asks_for() -> None:
    assert limits().sampling(make_task(greedy=True), 0, 9, (), {"temperature": 1.0}).temperature == 0.0


def test_seeds_differ_for_tasks_and_turns() -> None:
    seeds = {limits().sampling(make_task(seed=seed), turn, 9, (), {}).seed for seed in range(50) for turn in range(50)}
    assert len(seeds) == 2500
    assert all(0 <= seed < 2**63 for seed in seeds)
