from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from agentic_rl.config.memory import Estimate, estimate, why_no_estimate
from memory_doubles import QWEN3_8B, values_of

Of = Callable[..., Estimate]
BILLION = 8_190_000_000


def size(made: Estimate, name: str) -> int:
    (item,) = (item for item in made.items if item.name == name)
    return item.bytes


def test_verl_shards_weights_gradients_and_optimizer_over_all_devices(of: Of) -> None:
    made = of("verl", verl__nnodes=2)
    assert size(made, "weights") == size(made, "gradients") == 4 * BILLION // 16
    assert size(made, "optimizer") == 8 * BILLION // 16


def test_verl_keeps_gradients_only_while_it_updates_and_offloads_what_is_told(of: Of) -> None:
    plain = {item.name: item.phase for item in of("verl").items}
    assert (plain["weights"], plain["optimizer"], plain["gradients"]) == ("always", "always", "update")
    offloaded = of("verl", verl__fsdp_param_offload=True, verl__fsdp_optimizer_offload=True)
    phases = {item.name: item.phase for item in offloaded.items}
    assert (phases["weights"], phases["optimizer"]) == ("update", "update")


@pytest.mark.parametrize("key", ["use_kl_in_reward", "verl__use_kl_loss"])
def test_a_kl_divergence_holds_a_second_model_on_local_and_on_verl_none_on_the_device(of: Of, key: str) -> None:
    assert of("verl", **{key: True}) == of("verl")
    assert size(of("local", **{key.replace("verl", "local"): True}), "reference model") == 4 * BILLION


def test_gae_on_verl_holds_a_critic(of: Of) -> None:
    assert size(of("verl", verl__adv_estimator="gae"), "critic") == 12 * BILLION // 8


def test_the_engine_takes_its_share_where_the_memory_is_known_and_its_wish_otherwise(of: Of) -> None:
    known = of("verl", at_machine__device_memory=64 << 30)
    assert size(known, "the engine's share") == int(0.85 * (64 << 30))
    wished = of("verl", infer_tensor_parallel_size=2, verl__train_batch_size=64, rollout_n=8, verl__val_batch_size=8)
    assert size(wished, "the engine's weights") == BILLION
    sequence = 2 * 36 * 8 * 128 * 2 // 2 * 16384
    assert size(wished, "the engine's KV cache") == 64 * 8 // 4 * sequence


def test_what_training_holds_at_the_engine_s_start_is_part_of_its_share_on_mindspeed_rl(of: Of) -> None:
    card = 64 << 30
    made = of("mindspeed_rl", at_machine__device_memory=card)
    # 8 devices, TP 4: 2 replicas share the optimizer. AdamW's moments come with the first update.
    there = (2 + 4) * BILLION // 4 + 4 * BILLION // 8
    assert size(made, "the engine's share") == int(0.85 * card) - there
    assert made.total("rollout") == int(0.85 * card) + 8 * BILLION // 8


def test_what_is_offloaded_leaves_the_engine_its_whole_share_on_mindspeed_rl(of: Of) -> None:
    switches = {f"offload_train_{name}": True for name in ("param", "grad", "optimizer")}
    made = of("mindspeed_rl", at_machine__device_memory=64 << 30, **switches)
    assert made.total("rollout") == size(made, "the engine's share") == int(0.85 * (64 << 30))


def test_an_engine_on_mindspeed_rl_needs_its_weights_and_a_sequence_however_small_its_share(of: Of) -> None:
    made = of("mindspeed_rl", at_machine__device_memory=64 << 30, gpu_memory_utilization=0.1)
    (least,) = (item for item in made.items if item.name == "the engine's least")
    assert least.bytes == 2 * BILLION // 4 + 2 * 36 * 8 * 128 * 2 // 4 * 16384
    assert least.formula.startswith("its weights and one sequence; gpu_memory_utilization 0.1 x 64 GiB, less 15.")


def test_a_rollout_beside_a_reserved_share_has_a_wider_limit_than_an_update(of: Of) -> None:
    def excess(card: float) -> str | None:
        return of("verl", at_machine__device_memory=int(card), gpu_memory_utilization=0.9).excess

    held = (4 + 8) * BILLION // 8
    assert excess(held / 0.149) is None
    assert excess(held / 0.151) == "rollout"
    made = of("verl", verl__fsdp_param_offload=True, verl__fsdp_optimizer_offload=True, gpu_memory_utilization=0.9)
    assert (made.most("rollout"), made.most("update"), made.excess) == (0.95, 0.95, None)
    card = of("local").total("update") / 0.94
    assert of("local", at_machine__device_memory=int(card), at_val__rows=8).excess is None
    assert of("local", at_machine__device_memory=int(card * 0.98), at_val__rows=8).excess == "update"


def test_fewer_sequences_than_a_validation_batch_are_decoded_when_there_are_no_more_rows(of: Of) -> None:
    many, few = of("verl"), of("verl", at_val__rows=16)
    assert size(few, "the engine's KV cache") * 32 == size(many, "the engine's KV cache")


def test_verl_keeps_one_layer_whole_and_of_the_others_their_input(of: Of) -> None:
    made = of("verl", verl__train_batch_size=64, verl__ppo_mini_batch_size=64, rollout_n=8)
    tokens = 24000
    kept = 36 * 2 * 4096 * tokens
    again = 2 * (12 * 4096 + 4 * (4096 + 1024) + 4 * 12288) * tokens
    assert size(made, "activations") == kept + again


def test_verl_needs_less_for_logits_without_an_entropy_bonus_and_chunks_change_nothing(of: Of) -> None:
    def logits(**changes: Any) -> int:
        return size(of("verl", **changes), "logits and their gradients")

    assert logits(entropy_coeff=0.0) * 3 == logits(entropy_coeff=0.1) * 2
    assert logits(entropy_coeff=0.1, verl__entropy_from_logits_with_chunking=True) == logits(entropy_coeff=0.1)


def test_a_micro_batch_holds_no_more_than_the_mini_batch_has(of: Of) -> None:
    small = of("verl", verl__train_batch_size=8, rollout_n=1)
    assert "4096 tokens of a micro batch" in next(item.formula for item in small.items if item.name == "activations")


def test_megatron_splits_by_tensor_and_pipeline_and_the_optimizer_by_replicas_too(of: Of) -> None:
    made = of("mindspeed_rl", mindspeed_rl__tensor_model_parallel_size=2, mindspeed_rl__pipeline_model_parallel_size=2)
    assert size(made, "weights") == 2 * BILLION // 4
    assert size(made, "gradients") == 4 * BILLION // 4
    assert size(made, "optimizer") == 12 * BILLION // 8
    swapped = of("mindspeed_rl", mindspeed_rl__swap_optimizer=True)
    assert "optimizer" not in {item.name for item in swapped.items}


def test_megatron_s_fused_layers_are_split_by_tensor_parallelism_norms_included(of: Of) -> None:
    numbers = 4 * 4096 + 2 * 4096 + 2 * 1024 + (4096 + 1024) + 3 * 12288
    assert size(of("mindspeed_rl"), "activations") == 2 * 8192 * (36 * numbers + 4096) // 4


def test_megatron_keeps_less_when_it_computes_again(of: Of) -> None:
    full = {"mindspeed_rl__recompute_granularity": "full"}
    plain = size(of("mindspeed_rl"), "activations")
    some = {"mindspeed_rl__recompute_method": "block", "mindspeed_rl__recompute_num_layers": 12}
    block = size(of("mindspeed_rl", **some, **full), "activations")
    uniform = size(of("mindspeed_rl", mindspeed_rl__recompute_method="uniform", **full), "activations")
    assert uniform < block < plain


def test_local_holds_everything_in_float32_and_the_engine_s_layers_once_more(of: Of) -> None:
    made = of("local")
    assert size(made, "weights") == size(made, "gradients") == 4 * BILLION
    assert size(made, "optimizer") == 8 * BILLION
    assert size(made, "engine's copy of the layers") == 4 * (BILLION - 2 * 151936 * 4096)


def test_local_needs_less_for_logits_without_an_entropy_bonus(of: Of) -> None:
    def logits(**changes: Any) -> int:
        return size(of("local", **changes), "logits and their gradients")

    chunked = logits(entropy_coeff=0.1, local__entropy_from_logits_with_chunking=True)
    assert logits(entropy_coeff=0.0) < chunked < logits(entropy_coeff=0.1)


def test_the_peak_is_that_of_the_larger_phase(of: Of) -> None:
    made = of("local", at_val__rows=8)
    always = sum(item.bytes for item in made.items if item.phase == "always")
    update = sum(item.bytes for item in made.items if item.phase == "update")
    assert (made.peak, made.peak_phase) == (always + update, "update")


@pytest.mark.parametrize("backend", ["verl", "mindspeed_rl", "local"])
@pytest.mark.parametrize(
    "more",
    [{"rollout_n": 8}, {"max_model_len": 32768}, {"at_model__parameters": 9_000_000_000}, {"max_prompt_length": 4096}],
)
def test_asking_for_more_never_needs_less(of: Of, backend: str, more: dict[str, Any]) -> None:
    before, after = of(backend, entropy_coeff=0.01), of(backend, entropy_coeff=0.01, **more)
    assert after.total("rollout") >= before.total("rollout")
    # Samples of full length fill a micro batch in whole rows, so a little can be left over.
    assert after.total("update") >= 0.8 * before.total("update")


@pytest.mark.parametrize("backend", ["verl", "mindspeed_rl", "local"])
def test_lines_show_every_item_with_its_arithmetic(of: Of, backend: str) -> None:
    made = of(backend, at_machine__device_memory=64 << 30)
    first, *rest = made.lines()
    assert first.startswith("estimated for one device: ")
    assert "of 64 GiB" in first
    assert len(rest) == len(made.items)
    assert all(item.formula in line for item, line in zip(made.items, rest, strict=True))


def test_it_goes_through_json(of: Of) -> None:
    made = of("verl")
    assert json.loads(json.dumps(made.to_dict()))["peak"] == made.peak


@pytest.mark.parametrize("missing", [*[key for key in QWEN3_8B if key in {"@model.parameters", "@model.vocab_size"}]])
def test_without_a_size_of_the_model_there_is_no_estimate(missing: str) -> None:
    values = values_of("verl")
    del values[missing]
    assert estimate(values) is None


@pytest.mark.parametrize("missing", ["rollout_n", "verl.ppo_max_token_len_per_gpu", "train_backend"])
def test_without_a_value_there_is_no_estimate(missing: str) -> None:
    values = values_of("verl")
    del values[missing]
    assert estimate(values) is None


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"@model.intermediate_size": None, "@model.parameters": None}, "config.json does not say intermediate_size"),
        ({"@model.parameters": None}, "the number of parameters of this architecture is not known"),
        ({"rollout_n": None}, "a value that it needs is missing or wrong"),
        ({"test_only": True}, "nothing is trained"),
        ({}, ""),
    ],
)
def test_why_there_is_no_estimate_is_said(change: dict[str, Any], why: str) -> None:
    values = {key: value for key, value in (values_of("verl") | change).items() if value is not None}
    assert (estimate(values) is None) == bool(why)
    assert why_no_estimate(values).endswith(why)


def test_an_evaluation_has_none() -> None:
    assert estimate(values_of("verl", test_only=True)) is None


def test_a_run_on_the_cpu_is_not_compared_with_a_device() -> None:
    made = estimate(values_of("local", device="cpu") | {"@machine.device_memory": 1 << 30})
    assert made is not None
    assert made.share is None


@pytest.mark.parametrize("backend", ["verl", "mindspeed_rl", "local"])
@pytest.mark.parametrize("most", [1, 10**400])
def test_values_beyond_reason_are_reckoned_with(of: Of, backend: str, most: int) -> None:
    whole = {key.replace(".", "__"): most for key, value in values_of(backend).items() if type(value) is int}
    sizes = {key for key in whole if key.startswith("@")}
    changes = {key: value for key, value in whole.items() if key not in sizes | {"rollout_n"}}
    made = of(backend, at_machine__device_memory=64 << 30, **changes)
    assert made.lines()
    assert made.peak > 0
