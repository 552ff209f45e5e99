"""Samples of a group that can't differ."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from agentic_rl.config.diagnostics import Finding

Findings = Callable[..., list[Finding]]


def told(found: list[Finding]) -> list[Finding]:
    return [one for one in found if one.code == "ARL250"]


class Bad(NamedTuple):
    """A configuration and the one finding on it."""

    backend: str
    key: str
    value: float
    beginning: str
    alike: str
    hint: str


BAD = [
    Bad("verl", "top_k", 1, "1 always takes", "equal", "top_k: -1"),
    Bad("local", "temperature", 1e-6, "1.0e-6 always takes", "equal", "temperature: 1.0"),
    Bad("verl", "temperature", 0.1, "0.1 nearly always takes", "nearly equal", "temperature: 1.0"),
    Bad("mindspeed_rl", "top_p", 0.05, "0.05 nearly always takes", "nearly equal", "top_p: 1.0"),
    Bad("local", "min_p", 0.9, "0.9 nearly always takes", "nearly equal", "min_p: 0.01"),
    Bad("local", "min_p", 1, "1.0 always takes", "equal", "min_p: 0.01"),
]


@pytest.mark.parametrize("case", BAD, ids=[f"{one.key}-{one.value}-{one.backend}" for one in BAD])
def test_bad(case: Bad, findings: Findings) -> None:
    (finding,) = told(findings(case.backend, {case.key: case.value}))
    assert (finding.severity, finding.key, finding.hint) == ("warning", case.key, case.hint)
    assert finding.message == (
        f"{case.beginning} the likeliest token: the samples of a prompt (rollout_n 2 (the default)) are {case.alike}, "
        "their advantages 0, and nothing is learned"
    )


GOOD: list[tuple[str, dict[str, Any]]] = [
    ("verl", {"top_k": 2, "temperature": 0.2, "top_p": 0.5, "min_p": 0.5}),
    ("local", {"top_k": 0, "temperature": 1.0}),
    ("verl", {"top_k": 1, "test_only": True}),
    ("verl", {"top_k": 1, "verl__val_only": True}),
    ("verl", {"top_k": 1, "verl__adv_estimator": "gae"}),
    ("verl", {"top_k": 1, "rollout_n": 1}),
]


@pytest.mark.parametrize(("backend", "changes"), GOOD)
def test_good(backend: str, changes: dict[str, Any], findings: Findings) -> None:
    assert told(findings(backend, changes)) == []
