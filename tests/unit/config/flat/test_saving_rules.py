"""What is saved, and when."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from agentic_rl.config.diagnostics import Finding
from rule_cases import Bad

Findings = Callable[..., list[Finding]]
CODES = {"ARL255", "ARL256", "ARL257", "ARL258"}


def told(found: list[Finding]) -> list[Finding]:
    return [one for one in found if one.code in CODES]


SAVED = {"mindspeed_rl__save_interval": 1}
BAD = [
    Bad(
        "mindspeed_rl",
        {},
        {},
        "note ARL255 mindspeed_rl.save_interval",
        "1000 steps (the default), but train_iters 1 (the default): nothing is saved, since MindSpeed-RL does not save "
        "at the end",
        "save_interval: 1",
    ),
    Bad(
        "mindspeed_rl",
        {"mindspeed_rl__train_iters": 100},
        {},
        "warning ARL255 mindspeed_rl.save_interval",
        "1000 steps (the default), but train_iters 100: nothing is saved, since MindSpeed-RL does not save at the end",
        "save_interval: 100",
    ),
    Bad(
        "mindspeed_rl",
        {"mindspeed_rl__train_iters": 100, "mindspeed_rl__save_interval": 30},
        {},
        "warning ARL255 mindspeed_rl.save_interval",
        "30 steps, but train_iters 100: the last 10 steps are in no checkpoint, since MindSpeed-RL does not save at "
        "the end",
        "save_interval: 25, or train_iters: 90",
    ),
    Bad(
        "mindspeed_rl",
        {"mindspeed_rl__train_iters": 101, "mindspeed_rl__save_interval": 50},
        {},
        "warning ARL255 mindspeed_rl.save_interval",
        "50 steps, but train_iters 101: the last step is in no checkpoint, since MindSpeed-RL does not save at the end",
        "save_interval: 1, or train_iters: 100",
    ),
    Bad(
        "verl",
        {"verl__save_freq": 500},
        {"@train.rows": 512},
        "warning ARL256 verl.save_freq",
        "500 steps, but the run has 128 steps: only the last one is saved, and a run that stops early begins again",
        "save_freq: 25",
    ),
    Bad(
        "verl",
        {},
        {"@train.rows": 512},
        "warning ARL256 verl.save_freq",
        "1000 steps (the default), but the run has 128 steps: only the last one is saved, and a run that stops early "
        "begins again",
        "save_freq: 25",
    ),
    Bad(
        "local",
        {"local__save_freq": 50, "local__total_training_steps": 49},
        {},
        "note ARL256 local.save_freq",
        "50 steps, but the run has 49 steps: only the last one is saved, and a run that stops early begins again",
        "save_freq: 9",
    ),
    Bad(
        "verl",
        {"verl__ckpt_content": ["hf_model", "optimizer"]},
        {},
        "warning ARL257 verl.ckpt_content",
        "without model, extra a run that goes on begins again with the weights, schedule and random states",
        "ckpt_content: [model, optimizer, extra, hf_model]",
    ),
    Bad(
        "verl",
        {"verl__ckpt_content": ["model"]},
        {},
        "note ARL257 verl.ckpt_content",
        "without optimizer, extra a run that goes on begins again with the optimizer's state, schedule and random "
        "states",
        "ckpt_content: [model, optimizer, extra]",
    ),
    Bad(
        "verl",
        {},
        {"@output.problem": "/run can't be written by this user"},
        "warning ARL258 verl.project_name",
        "checkpoints can't be saved below the current folder: /run can't be written by this user",
        "start the run in a folder that this user can write",
    ),
    Bad(
        "mindspeed_rl",
        SAVED,
        {"@output.problem": "/out can't be written by this user"},
        "error ARL258 mindspeed_rl.save_params_path",
        "/out can't be written by this user",
        "name a folder that this user owns",
    ),
]


@pytest.mark.parametrize("case", BAD, ids=[f"{one.head}-{number}" for number, one in enumerate(BAD)])
def test_bad(case: Bad, findings: Findings) -> None:
    case.expect(told(findings(case.backend, case.changes, case.facts)))


GOOD: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("mindspeed_rl", {"mindspeed_rl__train_iters": 22, "mindspeed_rl__save_interval": 22}, {}),
    ("mindspeed_rl", {"mindspeed_rl__train_iters": 100, "test_only": True}, {}),
    ("verl", {}, {}),
    ("verl", {"verl__save_freq": 128}, {"@train.rows": 512}),
    ("verl", {"verl__save_freq": 64}, {"@train.rows": 515}),
    ("verl", {"verl__save_freq": 100, "verl__total_training_steps": 1}, {"@train.rows": 512}),
    ("verl", {"verl__save_freq": 500, "test_only": True}, {"@train.rows": 512}),
    ("verl", {"verl__ckpt_content": ["extra", "model", "optimizer", "hf_model"]}, {}),
    ("verl", {"verl__ckpt_content": ["hf_model"], "verl__val_only": True}, {}),
    ("local", {"local__ckpt_content": ["hf_model"]}, {}),
]


@pytest.mark.parametrize(("backend", "changes", "facts"), GOOD)
def test_good(backend: str, changes: dict[str, Any], facts: dict[str, Any], findings: Findings) -> None:
    assert told(findings(backend, changes, facts)) == []


def test_a_prime_number_of_steps_has_no_good_interval(findings: Findings) -> None:
    changes = {"mindspeed_rl__train_iters": 1_000_003, "mindspeed_rl__save_interval": 1000}
    (finding,) = told(findings("mindspeed_rl", changes))
    assert finding.hint == "save_interval: 1, or train_iters: 1000000"
