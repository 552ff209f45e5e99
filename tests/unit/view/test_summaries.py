from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentic_rl.view import summaries
from agentic_rl.view.summaries import Summary, opening_of, summary_of
from view_doubles import rollout, with_advantage


def line_of(record: Any) -> bytes:
    return json.dumps(record).encode() + b"\n"


def test_the_fields_before_the_conversation_are_read_without_parsing_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(summaries, "_parsed", lambda line: pytest.fail("the whole line was parsed"))
    line = line_of(rollout(3, 4, 5, data_source='a"\\b', reward=-1e-3, finish_reason="length"))
    assert summary_of(line) == Summary(3, 4, 5, 'a"\\b', -1e-3, None, "length", failed=False)


def test_an_advantage_and_an_error_are_seen() -> None:
    found = summary_of(line_of(with_advantage(rollout(error='Error: "x"'), -0.5)))
    assert found is not None
    assert (found.advantage, found.failed) == (-0.5, True)


def test_another_order_of_the_fields_gives_the_same() -> None:
    record = rollout(2, 1, 3, error="no")
    assert summary_of(line_of(dict(reversed(record.items())))) == summary_of(line_of(record))


@pytest.mark.parametrize(
    "line", [b"", b"\n", b"garbage\n", b"[1]\n", b"3\n", b'{"step": 1}\n', b'{"step": "a", "idx": 0}\n']
)
def test_other_lines_are_no_rollouts(line: bytes) -> None:
    assert summary_of(line) is None


def test_json_nested_too_deeply_is_no_rollout() -> None:
    assert summary_of(b"[" * 1_000_000 + b"\n") is None


@given(st.text(), st.text(), st.floats(allow_nan=False), st.booleans())
def test_both_ways_of_reading_agree(source: str, error: str, reward: float, failed: bool) -> None:
    record = rollout(data_source=source, error=error if failed else "", reward=reward)
    line = line_of(record)
    assert summaries._HEAD.match(line) is not None
    assert summary_of(line) == summaries._parsed(line)


def test_the_opening_is_the_beginning_of_the_first_question() -> None:
    messages = [{"role": "system", "content": "be good"}, {"role": "user", "content": "  Où\n est\tit? " + "x" * 500}]
    opening = opening_of(line_of(rollout(messages=messages)))
    assert opening.startswith("Où est it? xxx")
    assert len(opening) <= 200


@given(st.text(min_size=1, max_size=400))
def test_the_opening_never_breaks_an_escape(text: str) -> None:
    line = line_of(rollout(messages=[{"role": "user", "content": text}]))
    assert " ".join(text.split()).startswith(opening_of(line))


def test_without_a_question_there_is_no_opening() -> None:
    assert opening_of(line_of(rollout(messages=[]))) == ""
