from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from agentic_rl.backends.verl.inside.names import CHECKPOINT_ENGINE, WEIGHT_CHANNEL
from agentic_rl.backends.verl.separate import (
    BATCH,
    ENGINE,
    HYBRID,
    MINI_BATCH,
    ROLLOUT,
    STRATEGY,
    SWITCH,
    SYNC_STEP,
    THRESHOLD,
    WARMUP,
    Changes,
    applied,
    at,
    settings,
)

NATIVE: dict[str, Any] = {
    "data": {"train_batch_size": 16},
    "trainer": {
        "device": "cpu",
        "nnodes": 1,
        "v1": {
            "trainer_mode": "sync",
            "separate_async": {"parameter_sync_step": 4, "num_warmup_batches": 1},
            "sampler": {"max_off_policy_threshold": 8, "max_off_policy_strategy": "drop"},
        },
    },
    "actor_rollout_ref": {
        "hybrid_engine": True,
        "actor": {"ppo_mini_batch_size": 4},
        "rollout": {
            "nnodes": 0,
            "n_gpus_per_node": 8,
            "tensor_model_parallel_size": 2,
            "data_parallel_size": 1,
            "pipeline_model_parallel_size": 1,
            "checkpoint_engine": {"backend": "naive", "custom_backend_module": None},
        },
    },
}


def changed(*written: str, nodes: int = 2, inference: dict[str, Any] | None = None, **values: Any) -> Changes:
    """The changes to `NATIVE`, itself changed at the keys that are written with `__` for a dot."""
    native = applied(NATIVE, {key.replace("__", "."): value for key, value in values.items()})
    return settings(native, 3, nodes, inference, written)


def test_training_and_inference_have_their_own_devices_and_stay_a_step_apart() -> None:
    before = deepcopy(NATIVE)
    changes = changed()
    native = applied(NATIVE, changes.values)
    assert before == NATIVE
    assert (changes.notes, changes.problems) == ([], [])
    assert at(native, "trainer.v1.trainer_mode") == "separate_async"
    assert (at(native, "trainer.nnodes"), at(native, f"{ROLLOUT}.nnodes"), at(native, HYBRID)) == (3, 2, False)
    assert (at(native, WARMUP), at(native, THRESHOLD), at(native, STRATEGY)) == (1, 2, "wait")
    assert at(native, f"{ROLLOUT}.tensor_model_parallel_size") == 2


@pytest.mark.parametrize(
    ("device", "backend", "chosen", "module"),
    [
        ("cpu", "naive", WEIGHT_CHANNEL, CHECKPOINT_ENGINE),
        ("cpu", "nccl", WEIGHT_CHANNEL, CHECKPOINT_ENGINE),
        ("cuda", "naive", "nccl", None),
        ("npu", "naive", "nccl", None),
        ("cuda", "nixl", "nixl", None),
        ("npu", "mooncake", "mooncake", None),
    ],
)
def test_weights_travel_by_what_the_devices_have(device: str, backend: str, chosen: str, module: str | None) -> None:
    key = f"{ENGINE}.backend"
    given = {"trainer.device": device, key: backend}
    native = applied(NATIVE, given)
    changes = settings(native, 1, 1, {}, [key])
    native = applied(native, changes.values)
    assert (at(native, key), at(native, f"{ENGINE}.custom_backend_module")) == (chosen, module)
    assert [note.key for note in changes.notes] == ([key] if chosen != backend else [])
    assert settings(applied(NATIVE, given), 1, 1).notes == []


def test_naive_in_a_file_is_translated_with_a_note() -> None:
    (note,) = changed(f"{ENGINE}.backend").notes
    assert note.message == (
        "naive copies weights within a process; with one_step_off on cpu the weights travel by agentic_rl"
    )


def test_the_synchronizations_follow_from_the_batch_unless_they_are_written() -> None:
    assert changed(data__train_batch_size=8).values[SYNC_STEP] == 2
    assert changed(actor_rollout_ref__actor__ppo_mini_batch_size=16).values[SYNC_STEP] == 1
    written = changed(SYNC_STEP, data__train_batch_size=16)
    assert SYNC_STEP not in written.values
    assert written.problems == []


def test_a_batch_that_is_not_what_is_synchronized_is_a_problem() -> None:
    (problem,) = changed(SYNC_STEP, data__train_batch_size=12).problems
    assert (problem.key, problem.hint) == (BATCH, "16")
    assert problem.message == ("12 prompts, but one_step_off takes parameter_sync_step 4 x ppo_mini_batch_size 4 = 16")
    (problem,) = changed(data__train_batch_size=14).problems
    assert (problem.key, problem.hint) == (BATCH, "16")
    assert "14 prompts are not whole mini batches of 4 (ppo_mini_batch_size)" in problem.message


@pytest.mark.parametrize("value", [None, 0, -1, "many", True])
def test_what_is_no_number_is_left_to_other_rules(value: object) -> None:
    for key in (BATCH, MINI_BATCH, SYNC_STEP):
        changes = settings(applied(NATIVE, {key: value}), 1, 1, {}, [SYNC_STEP])
        assert [problem for problem in changes.problems if problem.key != BATCH] == []
    for key in ("n_gpus_per_node", "tensor_model_parallel_size"):
        assert settings(applied(NATIVE, {f"{ROLLOUT}.{key}": value}), 1, 1).problems == []


def test_what_would_let_samples_grow_older_is_said() -> None:
    keys = (WARMUP, THRESHOLD, STRATEGY)
    far = {"trainer__v1__separate_async__num_warmup_batches": 3}
    assert [note.key for note in changed(*keys, **far).notes] == [*keys]
    assert changed(**far).values[WARMUP] == 1
    assert changed(**far).notes == []
    assert changed(trainer__v1__separate_async__num_warmup_batches=0.5).values[WARMUP] == 0.5
    assert changed(trainer__v1__separate_async__num_warmup_batches=0).values[WARMUP] == 0


def test_devices_that_train_never_infer() -> None:
    lending = {SWITCH.replace(".", "__"): True}
    changes = changed(HYBRID, SWITCH, **lending)
    assert [note.key for note in changes.notes] == [HYBRID, SWITCH]
    assert (changes.values[HYBRID], changes.values[SWITCH]) == (False, False)
    assert changed(**lending).notes == []


def test_options_of_vllm_find_their_place() -> None:
    given = {"tensor_parallel_size": 4, "max_num_seqs": 7, "swap_space": 2, "max_model_len": None}
    values = changed(inference=given).values
    assert values[f"{ROLLOUT}.tensor_model_parallel_size"] == 4
    assert values[f"{ROLLOUT}.max_num_seqs"] == 7
    assert values[f"{ROLLOUT}.engine_kwargs.vllm.swap_space"] == 2
    assert f"{ROLLOUT}.max_model_len" not in values


@pytest.mark.parametrize(
    ("device", "nodes", "tensor", "data", "words"),
    [
        ("cuda", 1, 8, 1, ""),
        ("cuda", 2, 8, 2, ""),
        ("cuda", 1, 3, 1, "1 nodes x 8 devices to infer are not whole servers of 3 devices"),
        ("cuda", 3, 8, 2, "3 nodes x 8 devices to infer are not whole servers of 16 devices"),
        ("cuda", 2, 12, 1, "a server of 12 devices does not fill whole nodes of 8"),
        ("cpu", 2, 8, 2, "a server of 16 processes does not fit on a node"),
    ],
)
def test_servers_fill_the_nodes_that_infer(device: str, nodes: int, tensor: int, data: int, words: str) -> None:
    native = applied(NATIVE, {"trainer.device": device})
    changes = settings(native, 1, nodes, {"tensor_parallel_size": tensor, "data_parallel_size": data})
    found = [problem.message for problem in changes.problems]
    assert len(found) == bool(words)
    assert words in "".join(found)


def test_values_are_put_where_nothing_was() -> None:
    assert applied({"a": {"b": 1}, "c": 2}, {"a.d.e": 3, "c.f": 4}) == {"a": {"b": 1, "d": {"e": 3}}, "c": {"f": 4}}
    assert at({"a": {"b": 1}}, "a.b.c", "none") == "none"
