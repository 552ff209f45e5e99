"""Overlong prompts: what is said of them with each backend."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from agentic_rl.config.artifacts.prompt_tokens import Overlong
from agentic_rl.config.diagnostics import Finding

Findings = Callable[..., list[Finding]]
COUNTED = Overlong(over=3, longest=70, seen=10, rows=10, complete=True)


def said(findings: Findings, backend: str, found: Overlong, name: str = "train", **changes: object) -> list[Finding]:
    facts = {f"@{name}.overlong": found}
    return [one for one in findings(backend, changes, facts) if one.code == "ARL451"]


@pytest.mark.parametrize(
    ("backend", "name", "file", "consequence"),
    [
        ("verl", "train", "/data/train.parquet", "with truncation error (the default) their rollouts fail"),
        ("local", "val", "/data/test.parquet", "with truncation error (the default) their rollouts fail"),
        ("mindspeed_rl", "train", "/data/train", "MindSpeed-RL leaves their rows out"),
    ],
)
def test_what_happens_to_them_is_told(backend: str, name: str, file: str, consequence: str, findings: Findings) -> None:
    (found,) = said(findings, backend, COUNTED, name, max_prompt_length=64)
    assert found.severity == "warning"
    assert found.message == f"64 tokens, but 3 of 10 prompts of {file} have more (the longest 70); {consequence}"
    assert found.hint.startswith("max_prompt_length: 128 (")


@pytest.mark.parametrize("backend", ["verl", "local"])
def test_a_prompt_that_is_cut_needs_no_other_truncation(backend: str, findings: Findings) -> None:
    (failing,) = said(findings, backend, COUNTED, max_prompt_length=64)
    (cut,) = said(findings, backend, COUNTED, max_prompt_length=64, **{f"{backend}__truncation": "left"})
    assert "truncation: left, " in failing.hint
    assert cut.message.endswith("with truncation left they are cut")
    assert "truncation" not in cut.hint


def test_validation_data_of_mindspeed_rl_is_named(findings: Findings) -> None:
    (found,) = said(findings, "mindspeed_rl", COUNTED, "val", mindspeed_rl__test_data_path="/data/test")
    assert "2048 tokens (the default), but 3 of 10 prompts of /data/test have more" in found.message


@pytest.mark.parametrize(
    ("rows", "words"),
    [(400, "of the 10 prompts looked at (of 400)"), (None, "of the 10 prompts looked at of")],
)
def test_a_sample_is_called_one(rows: int | None, words: str, findings: Findings) -> None:
    sample = Overlong(over=3, longest=0, seen=10, rows=rows, complete=False)
    (found,) = said(findings, "mindspeed_rl", sample, max_prompt_length=64)
    assert f"at least 3 {words}" in found.message
