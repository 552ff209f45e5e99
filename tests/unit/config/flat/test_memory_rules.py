from __future__ import annotations

from typing import Any

import pytest

from agentic_rl.config.flat.memory_rules import MEMORY
from agentic_rl.config.rules import Facts, Problem, run
from memory_doubles import values_of

GIB = 1 << 30


def told(values: dict[str, Any], written: tuple[str, ...] = ()) -> dict[str, Problem]:
    return {rule.page.code: problem for rule, problem in run(MEMORY, Facts(values, written))}


def values(backend: str, card: int, **changes: Any) -> dict[str, Any]:
    return values_of(backend, **changes) | {"@machine.device_memory": card * GIB, "@val.rows": 64}


BAD: list[tuple[str, str, dict[str, Any], str, str]] = [
    (
        "verl",
        "gpu_memory_utilization",
        {"num_gpus_per_node": 4},
        "the rollout needs about",
        "fsdp_optimizer_offload: true",
    ),
    (
        "verl",
        "verl.ppo_max_token_len_per_gpu",
        {
            "gpu_memory_utilization": 0.5,
            "verl__ppo_max_token_len_per_gpu": 48000,
            "rollout_n": 16,
            "entropy_coeff": 0.1,
        },
        "the update needs about",
        "ppo_max_token_len_per_gpu: 24000",
    ),
    (
        "mindspeed_rl",
        "mindspeed_rl.micro_batch_size",
        {"gpu_memory_utilization": 0.5, "mindspeed_rl__micro_batch_size": 4},
        "the update needs about",
        "micro_batch_size: 2",
    ),
    ("local", "max_num_seqs", {"local__ppo_max_token_len_per_gpu": 4096}, "the rollout", "smaller model"),
]


@pytest.mark.parametrize(("backend", "key", "changes", "message", "hint"), BAD)
def test_more_than_the_card_is_said_with_what_would_fit(
    backend: str, key: str, changes: dict[str, Any], message: str, hint: str
) -> None:
    problem = told(values(backend, 64, **changes))["ARL280"]
    assert problem.key == key
    assert message in problem.message
    assert "of its 64 GiB" in problem.message
    assert hint in problem.hint


@pytest.mark.parametrize(("backend", "key", "changes", "message", "hint"), [row for row in BAD if ": " in row[4]])
def test_the_remedy_fits(backend: str, key: str, changes: dict[str, Any], message: str, hint: str) -> None:
    values_now = values(backend, 64, **changes)
    name, _, value = told(values_now)["ARL280"].hint.partition(": ")
    key = f"{backend}.{name}" if f"{backend}.{name}" in values_now else name
    values_now[key] = True if value == "true" else int(value)
    assert "ARL280" not in told(values_now)


@pytest.mark.parametrize(
    ("backend", "changes"),
    [
        ("verl", {"gpu_memory_utilization": 0.6, "num_gpus_per_node": 16}),
        ("mindspeed_rl", {"gpu_memory_utilization": 0.5, "num_gpus_per_node": 16}),
    ],
)
def test_what_fits_is_quiet(backend: str, changes: dict[str, Any]) -> None:
    assert told(values(backend, 64, **changes)) == {}


def test_without_a_known_card_nothing_is_said() -> None:
    assert told(values_of("verl")) == {}


def test_a_default_is_called_one() -> None:
    four = values("verl", 64, num_gpus_per_node=4)
    assert "with 0.85 (the default) the rollout" in told(four)["ARL280"].message
    written = told(four, ("gpu_memory_utilization",))["ARL280"]
    assert "with 0.85 the rollout" in written.message


def test_a_share_that_holds_no_sequence_is_said() -> None:
    problem = told(values("verl", 24, infer_tensor_parallel_size=1, gpu_memory_utilization=0.6))["ARL281"]
    assert problem.key == "gpu_memory_utilization"
    assert "0.6 (the default) of 24 GiB is 14.4 GiB" in problem.message
    assert "need 17.5 GiB" in problem.message


def test_a_share_that_holds_one_is_quiet() -> None:
    shared = values("verl", 24, infer_tensor_parallel_size=4, gpu_memory_utilization=0.6)
    assert "ARL281" not in told(shared)
