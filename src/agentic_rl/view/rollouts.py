"""A line of trajectories.jsonl as the page shows it."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from agentic_rl.view.messages import Limits, shown_messages
from agentic_rl.view.vocabulary import Vocabulary

_KEPT = ("step", "idx", "sample", "data_source", "reward", "advantage", "finish_reason", "error")
_COMPARED = 40
"""Letters of a message by which the turn of the policy that wrote it is known again."""


def shown_rollout(line: bytes, vocabulary: Vocabulary | None, limits: Limits) -> dict[str, Any]:
    """The fields of a rollout, its messages and its token sequences.

    A message that the policy wrote has `turn`: where in the last part's response its tokens begin and end.

    Raises:
        ValueError: the line is no JSON object.
    """
    record = _record(line)
    parts = [_part(part, vocabulary, limits) for part in _parts(record)]
    messages = shown_messages(record.get("messages"), limits)
    _find_turns(messages, parts[-1])
    return {
        **{name: _plain(record[name]) for name in _KEPT if name in record},
        "messages": messages,
        "parts": parts,
        "bytes": len(line),
    }


def _record(line: bytes) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except RecursionError:
        raise ValueError("its JSON is nested too deeply") from None
    if not isinstance(record, dict):
        raise ValueError("it is no JSON object")
    return record


def _parts(record: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The token sequences of a rollout, at least one; its own tokens are those of the last."""
    segments = record.get("segments")
    found = [part for part in segments if isinstance(part, Mapping)] if isinstance(segments, list) else []
    return found or [record]


def _part(part: Mapping[str, Any], vocabulary: Vocabulary | None, limits: Limits) -> dict[str, Any]:
    """Tokens as `ids` and `texts` (None: unknown), cut to the limit; `length` and `turns` are of the whole part."""
    prompt, response = _numbers(part, "prompt_tokens"), _numbers(part, "response_tokens")
    mask, logprobs = _numbers(part, "response_mask"), _values(part, "response_logprobs")
    shown = response[: limits.tokens]
    opening = prompt[-limits.tokens :] if limits.tokens is not None else prompt
    return {
        "prompt": {"length": len(prompt), "ids": opening, "texts": vocabulary and vocabulary.texts(opening)},
        "length": len(response),
        "ids": shown,
        "texts": vocabulary and vocabulary.texts(shown),
        "logprobs": logprobs[: limits.tokens] or None,
        "turns": turns_of(mask),
        "mean_logprob": _mean([logprob for logprob, own in zip(logprobs, mask, strict=False) if own]),
    }


def turns_of(mask: Sequence[int]) -> list[list[int]]:
    """Where the turns of the policy begin and end: the runs of 1."""
    edges = [place for place, (before, now) in enumerate(zip([0, *mask], [*mask, 0], strict=True)) if before != now]
    return [list(turn) for turn in zip(edges[::2], edges[1::2], strict=True)]


def _find_turns(messages: Sequence[dict[str, Any]], part: Mapping[str, Any]) -> None:
    """Give the last messages of the assistant the turns of the policy, from the end back."""
    written = [message for message in messages if message["role"] == "assistant"]
    for message, (start, stop) in zip(reversed(written), reversed(part["turns"]), strict=False):
        texts = part["texts"]
        if texts is None or stop > len(texts) or _told(message["text"]) in "".join(texts[start:stop]):
            message["turn"] = [start, stop]


def _told(text: str) -> str:
    """The beginning of a text up to where bytes that are no text may have been decoded otherwise."""
    beginning = text.strip()[:_COMPARED]
    return next(
        (beginning[:at] for at, letter in enumerate(beginning) if letter == "\ufffd" or "\ud800" <= letter <= "\udfff"),
        beginning,
    )


def _numbers(part: Mapping[str, Any], name: str) -> list[int]:
    return [int(number) for number in _values(part, name)]


def _values(part: Mapping[str, Any], name: str) -> list[float]:
    values = part.get(name)
    if not isinstance(values, list):
        return []
    return [value if isinstance(value, (int, float)) and math.isfinite(value) else 0 for value in values]


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _plain(value: Any) -> Any:
    """A value that JavaScript's JSON takes too."""
    return None if isinstance(value, float) and not math.isfinite(value) else value
