from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace

import pytest

from agentic_rl.backends import Plan, TrainResult

PLAN = Plan(
    backend="local",
    steps=["train"],
    native_configuration={"lr": 0.1, "local": {"threads": 1}},
    devices=["cpu"],
)


def test_a_plan_as_text_has_a_heading_for_every_field() -> None:
    assert PLAN.to_text().splitlines() == [
        "backend: local",
        "",
        "steps:",
        "  train",
        "",
        "native configuration:",
        "  lr: 0.1",
        "  local:",
        "    threads: 1",
        "",
        "environment:",
        "  none",
        "",
        "processes:",
        "  none",
        "",
        "devices:",
        "  cpu",
        "",
        "memory:",
        "  none",
        "",
        "ports:",
        "  none",
        "",
        "reads:",
        "  none",
        "",
        "writes:",
        "  none",
    ]


def test_a_plan_without_an_estimate_says_why_in_its_place() -> None:
    assert "memory:\n  no size\n\nports:" in replace(PLAN, no_memory="no size").to_text()


def test_a_plan_goes_through_json_unchanged() -> None:
    assert Plan(**json.loads(json.dumps(PLAN.to_dict()))) == PLAN


@pytest.mark.parametrize(
    ("reason", "status"), [("finished", 0), ("already_finished", 0), ("evaluated", 0), ("interrupted", 130)]
)
def test_the_exit_status_follows_from_the_reason(reason: str, status: int) -> None:
    assert TrainResult(3, reason).exit_status == status  # type: ignore[arg-type]


def test_trainers_are_found_without_torch() -> None:
    code = "import agentic_rl.backends.local.trainer, sys; print('torch' in sys.modules, 'transformers' in sys.modules)"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "False False"
