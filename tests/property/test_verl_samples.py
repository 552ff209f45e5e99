"""Samples for verl: whatever the trajectory, its tokens and masks are in them, in their order and no others."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from agentic_rl.agents.trajectory import Trajectory
from agentic_rl.backends.verl.inside.outputs import Frame, rollout_of

PROMPT, RESPONSE = 6, 30
TOKENS = st.tuples(st.integers(0, 1000), st.booleans(), st.floats(-9, 0))


@st.composite
def trajectories(draw: st.DrawFn) -> Trajectory:
    response = draw(st.lists(TOKENS, max_size=RESPONSE + 10))
    mask = [int(own) for _, own, _ in response]
    known = draw(st.booleans())
    return Trajectory(
        draw(st.lists(st.integers(0, 1000), min_size=1, max_size=PROMPT)),
        [token for token, _, _ in response],
        mask,
        trajectory_reward=draw(st.floats(-5, 5)),
        response_logprobs=[logprob * own for _, own, logprob in response] if known else [],
    )


@given(trajectories(), st.booleans())
def test_samples_put_together_are_the_trajectory(trajectory: Trajectory, stepwise: bool) -> None:
    samples = rollout_of(trajectory, Frame(PROMPT, RESPONSE, stepwise, filler=0), []).samples
    last = samples[-1]
    prompt, response = list(trajectory.prompt_tokens), list(trajectory.response_tokens)[:RESPONSE]
    mask = list(trajectory.response_masks)[:RESPONSE]
    end = max((place + 1 for place, own in enumerate(mask) if own), default=0)
    if not end:
        assert (last.prompt, last.response, sum(last.mask)) == (prompt, response or [0], 0)
        return
    assert [*last.prompt, *last.response] == [*prompt, *response[:end]]
    whole = [0] * len(prompt) + mask[:end]
    logprobs = [0.0] * len(prompt) + (list(trajectory.response_logprobs)[:end] or [0.0] * end)
    found_mask, found_logprobs = [0] * len(whole), [0.0] * len(whole)
    for sample in samples:
        start, stop = len(sample.prompt), len(sample.prompt) + len(sample.response)
        assert sample.prompt == [*prompt, *response][:start]
        assert sample.response == [*prompt, *response][start:stop]
        found_mask[start:stop] = sample.mask
        found_logprobs[start:stop] = sample.logprobs
        assert sample.mask[-1] == 1  # where verl puts the reward
        assert sample.reward == trajectory.trajectory_reward
        assert len(sample.response) <= RESPONSE
        assert stop <= PROMPT + RESPONSE
    assert found_mask == whole
    assert found_logprobs == logprobs
    assert all(sum(sample.mask) == len(sample.mask) for sample in samples) or not stepwise
