from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentic_rl.view.messages import Limits
from agentic_rl.view.rollouts import shown_rollout, turns_of
from agentic_rl.view.vocabulary import Vocabulary
from view_doubles import VOCABULARY, rollout

VOCABULARY_OF_TESTS = Vocabulary(
    {"model": {"vocab": {token: at for at, token in enumerate(VOCABULARY)}}, "decoder": {"type": "ByteLevel"}}
)
ALL = Limits()
FORK = {
    "prompt_tokens": [0],
    "response_tokens": [6, 7],
    "response_mask": [1, 1],
    "response_logprobs": [-1.0, -2.0],
}


def shown(
    record: Any = None, limits: Limits = ALL, vocabulary: Vocabulary | None = VOCABULARY_OF_TESTS
) -> dict[str, Any]:
    return shown_rollout(json.dumps(rollout() if record is None else record).encode(), vocabulary, limits)


def turns(one: dict[str, Any]) -> list[Any]:
    return [message.get("turn") for message in one["messages"]]


def test_tokens_have_their_texts_and_messages_their_turns() -> None:
    one = shown()
    (part,) = one["parts"]
    assert part["prompt"] == {"length": 2, "ids": [0, 1], "texts": ["user", "?"]}
    assert part["texts"] == ["Let", " me", "<call>", "42\n", "So", " 42"]
    assert part["turns"] == [[0, 3], [4, 6]]
    assert part["mean_logprob"] == pytest.approx(-4.61 / 5)
    assert turns(one) == [None, [0, 3], None, [4, 6]]


def test_without_a_vocabulary_there_are_numbers_alone() -> None:
    one = shown(vocabulary=None)
    assert one["parts"][0]["texts"] is None
    assert turns(one) == [None, [0, 3], None, [4, 6]]


def test_a_message_that_the_tokens_do_not_say_gets_no_turn() -> None:
    record = rollout()
    record["messages"][1]["content"] = "Rewritten"
    assert turns(shown(record)) == [None, None, None, [4, 6]]


def test_messages_of_the_prompt_are_not_the_policys() -> None:
    record = rollout()
    record["messages"] = [{"role": "assistant", "content": "an example"}, *record["messages"]]
    assert turns(shown(record))[0] is None


def test_bytes_that_are_no_text_do_not_hide_a_turn() -> None:
    record = rollout()
    record["messages"][3]["content"] = "So\udc80"
    assert turns(shown(record))[3] == [4, 6]


def test_several_sequences_are_all_shown_and_the_last_is_the_conversations() -> None:
    whole = rollout()
    last = {name: whole[name] for name in FORK}
    one = shown({**whole, "segments": [FORK, last]})
    assert [part["length"] for part in one["parts"]] == [2, 6]
    assert turns(one) == [None, [0, 3], None, [4, 6]]


def test_limits_cut_and_tell_the_whole_length() -> None:
    one = shown(limits=Limits(letters=2, tokens=1))
    (part,) = one["parts"]
    assert (part["ids"], part["logprobs"], part["length"]) == ([2], [-0.1], 6)
    assert part["prompt"] == {"length": 2, "ids": [1], "texts": ["?"]}
    assert one["messages"][0] == {"role": "user", "text": "Wh", "letters": len(rollout()["messages"][0]["content"])}


@pytest.mark.parametrize(
    "changes",
    [
        {"messages": None},
        {"response_tokens": None},
        {"response_mask": [1] * 99},
        {"response_logprobs": []},
        {"response_logprobs": [float("nan")] * 6},
        {"reward": float("inf")},
        {"segments": 3},
        {"segments": [3]},
        {"prompt_tokens": ["a"]},
    ],
)
def test_a_broken_record_is_shown_as_far_as_it_goes(changes: dict[str, Any]) -> None:
    text = json.dumps(shown({**rollout(), **changes}))
    assert "NaN" not in text
    assert "Infinity" not in text


@pytest.mark.parametrize(
    ("line", "message"),
    [(b"[]", "no JSON object"), (b"x", "Expecting value"), (b"[" * 200_000, "nested too deeply")],
)
def test_what_is_no_object_is_refused(line: bytes, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        shown_rollout(line, None, Limits())


@given(st.lists(st.sampled_from([0, 1])))
def test_turns_are_the_runs_of_one(mask: list[int]) -> None:
    found = turns_of(mask)
    again = [0] * len(mask)
    for start, stop in found:
        again[start:stop] = [1] * (stop - start)
    assert again == mask
    assert all(before[1] < after[0] for before, after in pairwise(found))
