"""Each rule about verl's own configuration: what breaks it, with the whole message, and a sound neighbour."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from agentic_rl.backends.verl.composition import MEGATRON_TEMPLATE
from agentic_rl.config.verl_native.native_rules import NATIVE_RULES
from verl_doubles import HAS_VERL
from verl_native import ACTOR, MODEL, ROLLOUT, broken

pytestmark = [pytest.mark.verl, pytest.mark.skipif(not HAS_VERL, reason="verl is not installed")]

TABLE = Path(__file__).parents[3] / "data" / "verl" / "native_rules.yaml"
CASES: list[dict[str, Any]] = yaml.safe_load(TABLE.read_text(encoding="utf-8"))
NAMES = [f"{case['finding'].split()[1]}-{number}" for number, case in enumerate(CASES)]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("data") / "tasks.parquet"
    path.touch()
    return str(path)


@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_broken(case: dict[str, Any], data: str) -> None:
    ((head, key, message, hint),) = broken(case["bad"], data)
    assert f"{head} {key}" == case["finding"]
    assert (message, hint) == (case["message"], case["hint"])


@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_sound(case: dict[str, Any], data: str) -> None:
    assert broken(case["good"], data) == []


def test_defaults_are_sound(data: str) -> None:
    assert broken({}, data) == []


def test_every_rule_has_a_case() -> None:
    assert {rule.page.code for rule in NATIVE_RULES} == {case["finding"].split()[1] for case in CASES}


@pytest.mark.parametrize(
    ("vllm", "found"),
    [("0.21.0", ["error ARL534"]), ("0.22.0", [])],
)
def test_routes_are_replayed_by_a_newer_vllm(vllm: str, found: list[str], data: str) -> None:
    changes = {f"{ROLLOUT}.enable_rollout_routing_replay": True}
    assert [head for head, *_ in broken(changes, data, vllm=vllm)] == found


def test_flash_attention_that_is_there(data: str) -> None:
    changes = {f"{MODEL}.override_config": {"attn_implementation": "flash_attention_2"}}
    assert broken(changes, data, flash_attn=True) == []


def test_ranks_of_megatron_share_samples_in_parallel(data: str) -> None:
    layout = {f"{ACTOR}.megatron.tensor_model_parallel_size": 4, f"{ACTOR}.ppo_mini_batch_size": 1}
    assert (
        broken({**layout, f"{ROLLOUT}.n": 4, f"{ACTOR}.ppo_micro_batch_size_per_gpu": 2}, data, MEGATRON_TEMPLATE) == []
    )
    ((head, key, message, _),) = broken({f"{ACTOR}.ppo_mini_batch_size": 1, f"{ROLLOUT}.n": 4}, data, MEGATRON_TEMPLATE)
    assert (head, key) == ("error ARL536", f"{ACTOR}.ppo_mini_batch_size")
    assert "which 8 data-parallel ranks can't share evenly" in message


def test_a_library_of_ones_own_may_register_more(data: str) -> None:
    changes = {"algorithm.adv_estimator": "mine", f"{MODEL}.external_lib": "my_package"}
    assert [head for head, *_ in broken(changes, data)] == ["warning ARL520"]
    del changes[f"{MODEL}.external_lib"]
    assert [head for head, *_ in broken(changes, data)] == ["error ARL520"]
    assert [head for head, *_ in broken(changes, data, modules=("my_package",))] == ["warning ARL520"]


@pytest.mark.parametrize(
    ("backend", "device", "there", "missing"),
    [
        ("nccl", "cuda", (), "cupy"),
        ("nccl", "cuda", ("cupy",), None),
        ("nccl", "npu", ("cupy",), "torch_npu"),
        ("nccl", "npu", ("torch_npu",), None),
        ("mooncake", "cuda", ("nixl",), "mooncake"),
        ("agentic_rl", "cpu", (), None),
        ("nccl", "cuda", None, None),
    ],
)
def test_the_way_of_the_weights_needs_its_package(
    backend: str, device: str, there: tuple[str, ...] | None, missing: str | None, data: str
) -> None:
    changes = {
        "trainer.v1.trainer_mode": "separate_async",
        "trainer.device": device,
        "data.train_batch_size": 64,
        f"{ROLLOUT}.nnodes": 1,
        f"{ROLLOUT}.checkpoint_engine.backend": backend,
    }
    found = [message for head, _, message, _ in broken(changes, data, weight_packages=there) if head == "error ARL540"]
    assert found == (
        []
        if missing is None
        else [f"{backend} needs the package {missing}, which is not installed; verl notices when the models are up"]
    )
