"""Devices that inference shares, and devices that the environment shows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from agentic_rl.config.diagnostics import Finding
from rule_cases import Bad

Findings = Callable[..., list[Finding]]
CODES = {"ARL270", "ARL271", "ARL272"}
TENSOR = "infer_tensor_parallel_size"


def told(found: list[Finding]) -> list[Finding]:
    return [one for one in found if one.code in CODES]


def model(heads: int, kv_heads: int | None = None) -> dict[str, Any]:
    facts = {"@model.num_attention_heads": heads}
    return facts if kv_heads is None else {**facts, "@model.num_key_value_heads": kv_heads}


def shown(count: int, variable: str = "ASCEND_RT_VISIBLE_DEVICES") -> dict[str, Any]:
    return {"@machine.visible_devices": count, "@machine.visible_variable": variable}


BAD = [
    Bad(
        "verl",
        {TENSOR: 3},
        {},
        f"error ARL270 {TENSOR}",
        "3 does not divide num_gpus_per_node 8 (the default)",
        f"{TENSOR}: 1, 2, 4 or 8",
    ),
    Bad(
        "verl",
        {"num_gpus_per_node": 2},
        {},
        f"error ARL270 {TENSOR}",
        "4 (the default) does not divide num_gpus_per_node 2",
        f"{TENSOR}: 1 or 2",
    ),
    Bad(
        "verl",
        {"num_gpus_per_node": 1, "verl__nnodes": 2, TENSOR: 4},
        {},
        f"error ARL270 {TENSOR}",
        "4 does not divide num_gpus_per_node 1 x nnodes 2 = 2 devices",
        f"{TENSOR}: 1 or 2",
    ),
    Bad(
        "verl",
        {"num_gpus_per_node": 4, "verl__nnodes": 3, TENSOR: 6},
        {},
        f"error ARL270 {TENSOR}",
        "6 devices of one engine lie on more than one node, but fill no whole number of them: "
        "num_gpus_per_node 4 x nnodes 3 = 12 devices",
        f"{TENSOR}: 1, 2, 3, 4 or 12",
    ),
    Bad(
        "mindspeed_rl",
        {TENSOR: 3},
        {},
        f"warning ARL270 {TENSOR}",
        "3 does not divide num_gpus_per_node 8 (the default): 2 devices are left without an engine, and MindSpeed-RL's "
        "workers stop",
        f"{TENSOR}: 1, 2, 4 or 8",
    ),
    Bad(
        "verl",
        {TENSOR: 8},
        model(28, 4),
        f"error ARL271 {TENSOR}",
        "8 devices can't share the model's 28 attention heads evenly",
        f"{TENSOR}: 1, 2 or 4",
    ),
    Bad(
        "mindspeed_rl",
        {},
        model(14, 2),
        f"error ARL271 {TENSOR}",
        "4 (the default) devices can't share the model's 14 attention heads evenly",
        f"{TENSOR}: 1 or 2",
    ),
    Bad(
        "verl",
        {TENSOR: 4, "num_gpus_per_node": 12},
        model(24, 6),
        f"error ARL271 {TENSOR}",
        "4 devices can't share the model's 6 heads of keys and values evenly",
        f"{TENSOR}: 1, 2, 3, 6 or 12",
    ),
    Bad(
        "verl",
        {},
        shown(4),
        "warning ARL272 num_gpus_per_node",
        "8 devices (the default), but ASCEND_RT_VISIBLE_DEVICES shows 4 here",
        "num_gpus_per_node: 4, or unset ASCEND_RT_VISIBLE_DEVICES",
    ),
    Bad(
        "mindspeed_rl",
        {"num_gpus_per_node": 4},
        shown(0, "CUDA_VISIBLE_DEVICES"),
        "warning ARL272 num_gpus_per_node",
        "4 devices, but CUDA_VISIBLE_DEVICES shows 0 here",
        "unset CUDA_VISIBLE_DEVICES",
    ),
    Bad(
        "local",
        {"device": "gpu"},
        shown(0, "CUDA_VISIBLE_DEVICES"),
        "warning ARL272 device",
        "gpu, but CUDA_VISIBLE_DEVICES shows no device here",
        "unset CUDA_VISIBLE_DEVICES",
    ),
]


@pytest.mark.parametrize("case", BAD, ids=[f"{one.head}-{one.backend}" for one in BAD])
def test_bad(case: Bad, findings: Findings) -> None:
    case.expect(told(findings(case.backend, case.changes, case.facts)))


GOOD: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("verl", {}, {}),
    ("verl", {TENSOR: 8}, model(32, 8)),
    ("verl", {TENSOR: 4}, model(28, 4)),
    ("verl", {TENSOR: 8}, model(64, 4)),
    ("verl", {TENSOR: 4}, model(32)),
    ("verl", {TENSOR: 1, "num_gpus_per_node": 3}, model(9, 3)),
    ("verl", {TENSOR: 16, "verl__nnodes": 2}, model(64, 8)),
    ("verl", {TENSOR: 6, "num_gpus_per_node": 3, "verl__nnodes": 4}, {}),
    ("mindspeed_rl", {TENSOR: 4, "num_gpus_per_node": 4}, model(28, 4)),
    ("mindspeed_rl", {TENSOR: 6, "num_gpus_per_node": 4, "num_node": 3}, {}),
    ("local", {TENSOR: 3}, model(28, 4)),
    ("verl", {"num_gpus_per_node": 4}, shown(4)),
    ("verl", {"num_gpus_per_node": 4}, shown(8)),
    ("local", {"device": "auto"}, shown(0)),
    ("local", {"device": "gpu"}, shown(1, "CUDA_VISIBLE_DEVICES")),
]


@pytest.mark.parametrize(("backend", "changes", "facts"), GOOD)
def test_good(backend: str, changes: dict[str, Any], facts: dict[str, Any], findings: Findings) -> None:
    assert told(findings(backend, changes, facts)) == []


def test_engines_that_do_not_fit_at_all_are_left_to_the_rule_of_mindspeed(findings: Findings) -> None:
    assert told(findings("mindspeed_rl", {TENSOR: 16})) == []


def test_sizes_that_nobody_has_cost_no_time(findings: Findings) -> None:
    huge = 2**62 + 1
    (finding,) = told(findings("verl", {"num_gpus_per_node": huge, "verl__nnodes": huge, TENSOR: 2}))
    assert finding.hint.startswith(f"{TENSOR}: 1")


def test_a_long_list_of_usable_sizes_is_cut(findings: Findings) -> None:
    (finding,) = told(findings("verl", {"num_gpus_per_node": 720720, TENSOR: 17}))
    assert finding.hint.count(",") == 10
