"""Every documented key of the instances format has its effect on verl, or a finding says that it has none."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentic_rl.backends.verl.instances.effects import AGENT, INFER, NOT_READ, TRAIN
from agentic_rl.backends.verl.instances.run import InstancesRun
from instances_runs import CONF, ENGINE, KWARGS, run, said
from verl_doubles import HAS_VERL, at

pytestmark = [pytest.mark.verl, pytest.mark.skipif(not HAS_VERL, reason="verl is not installed")]
TABLE = Path(__file__).parents[4] / "data" / "aura" / "aura-params.tsv"
MEGATRON = {f"{CONF}.actor_rollout_ref.actor.strategy": "megatron"}
CHANGED: dict[str, Any] = {
    "algorithm.adv_estimator": "gae",
    "algorithm.kl_ctrl.kl_coef": 0.5,
    "data.train_files": "/data/other.parquet",
    "data.val_files": "/data/others.parquet",
    "data.train_batch_size": 32,
    "data.max_prompt_length": 99,
    "data.max_response_length": 98,
    "data.filter_overlong_prompts": False,
    "data.truncation": "left",
    "actor_rollout_ref.model.path": "/models/other",
    "actor_rollout_ref.model.use_remove_padding": False,
    "actor_rollout_ref.model.enable_gradient_checkpointing": False,
    "actor_rollout_ref.actor.strategy": "fsdp2",
    "actor_rollout_ref.actor.optim.lr": 0.25,
    "actor_rollout_ref.actor.entropy_coeff": 0.5,
    "actor_rollout_ref.actor.ppo_mini_batch_size": 8,
    "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu": 4,
    "actor_rollout_ref.actor.use_kl_loss": False,
    "actor_rollout_ref.actor.kl_loss_coef": 0.5,
    "actor_rollout_ref.actor.kl_loss_type": "mse",
    "actor_rollout_ref.actor.megatron.seed": 7,
    "actor_rollout_ref.actor.megatron.pipeline_model_parallel_size": 2,
    "actor_rollout_ref.actor.megatron.tensor_model_parallel_size": 2,
    "actor_rollout_ref.actor.megatron.override_transformer_config.use_flash_attn": False,
    "actor_rollout_ref.rollout.prompt_length": 97,
    "actor_rollout_ref.rollout.response_length": 96,
    "actor_rollout_ref.rollout.agent.agent_loop_manager_class": "verl.trainer.ppo.v1.AgentLoopManagerTQ",
    "actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu": 8,
    "actor_rollout_ref.rollout.enable_chunked_prefill": False,
    "actor_rollout_ref.rollout.tensor_model_parallel_size": 2,
    "actor_rollout_ref.rollout.name": "sglang",
    "actor_rollout_ref.rollout.gpu_memory_utilization": 0.25,
    "actor_rollout_ref.rollout.n": 16,
    "actor_rollout_ref.ref.log_prob_micro_batch_size_per_gpu": 8,
    "actor_rollout_ref.ref.megatron.pipeline_model_parallel_size": 4,
    "actor_rollout_ref.ref.megatron.tensor_model_parallel_size": 8,
    "trainer.val_before_train": True,
    "trainer.critic_warmup": 3,
    "trainer.project_name": "other",
    "trainer.experiment_name": "another",
    "trainer.n_gpus_per_node": 4,
    "trainer.nnodes": 2,
    "trainer.save_freq": 5,
    "trainer.test_freq": 6,
    "trainer.total_epochs": 7,
    "trainer.logger": ["tensorboard"],
}
NOT_NATIVE = {"trainer.device", "extras.agent_service", "extras.infer_service", *NOT_READ}
"""Of `verl_conf`: each has a test of its own below."""


def documented(section: str) -> set[str]:
    with TABLE.open(encoding="utf-8", newline="") as file:
        lines = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        return {line["key"].removeprefix(section) for line in lines if line["key"].startswith(section)}


def test_every_documented_key_is_spoken_of() -> None:
    assert documented("train_instances[].") == set(TRAIN)
    assert documented("agent_instances[].") == set(AGENT)
    assert documented("infer_instances[].") == set(INFER)
    assert documented(f"{CONF}.") == set(CHANGED) | NOT_NATIVE


@pytest.mark.parametrize("key", CHANGED)
def test_a_key_of_verl_arrives(key: str) -> None:
    engine = MEGATRON if ".megatron." in key else {}
    before, after = run(engine).native(), run({**engine, f"{CONF}.{key}": CHANGED[key]}).native()
    assert at(after, key) == CHANGED[key]
    lacks = {} if ".agent_loop_manager_class" not in key else {"agent_loop_manager_class": None}
    node = {**lacks, **at(before, key.rpartition(".")[0])} if at_or_none(before, key.rpartition(".")[0]) else {}
    assert node.get(key.rpartition(".")[2]) != CHANGED[key]


def at_or_none(native: dict[str, Any], key: str) -> Any:
    node: Any = native
    for name in key.split("."):
        node = node.get(name) if isinstance(node, dict) else None
    return node


@pytest.mark.parametrize(("device", "word"), [("npu", "npu"), ("gpu", "cuda"), ("cuda", "cuda"), ("cpu", "cpu")])
def test_a_device_is_told_in_the_words_of_verl(device: str, word: str) -> None:
    one = run({f"{CONF}.trainer.device": device})
    assert at(one.native(), "trainer.device") == word
    assert one.device == {"cuda": "gpu"}.get(device, device)


@pytest.mark.parametrize(
    ("key", "value", "read"),
    [
        ("agent_engine_kwargs.agent_name", "gym", lambda one: one.rollouts(1).agent_name),
        ("agent_engine_kwargs.agent_name", "gym", lambda one: at(one.native(), f"{AGENT_LOOP}.default_agent_loop")),
        ("agent_engine", "other", lambda one: one.rollouts(1).agent_engine),
        ("agent_engine_kwargs.simplify_think_content", True, lambda one: one.rollouts(1).forget_thoughts),
        ("agent_engine_kwargs.max_steps", 3, lambda one: one.rollouts(1).max_steps),
        ("agent_engine_kwargs.max_prompt_length", 77, lambda one: one.rollouts(1).max_prompt_length),
        ("agent_engine_kwargs.max_model_len", 333, lambda one: one.rollouts(1).max_model_len),
        ("agent_engine_kwargs.n_parallel_agents", 12, lambda one: one.rollouts(1).n_parallel_agents),
        ("agent_engine_kwargs.tokenizer", "/t", lambda one: at(one.native(), f"{MODEL}.tokenizer_path")),
        ("infer_service_params.temperature", 0.5, lambda one: at(one.native(), f"{ROLLOUT}.temperature")),
        ("infer_service_params.top_p", 0.5, lambda one: at(one.native(), f"{ROLLOUT}.top_p")),
        ("infer_service_params.max_tokens", 9, lambda one: one.rollouts(1).max_tokens),
        ("trajectory_save_dir", "/r/all.jsonl", lambda one: one.limits.trajectories),
    ],
)
def test_a_key_of_the_agent_has_its_effect(key: str, value: Any, read: Callable[[InstancesRun], Any]) -> None:
    assert read(run()) != value
    assert read(run({f"{KWARGS}.{key}": value})) == value


AGENT_LOOP, ROLLOUT, MODEL = (f"actor_rollout_ref.{name}" for name in ("rollout.agent", "rollout", "model"))


def test_executors_of_the_agent_are_processes_that_run_agents() -> None:
    assert at(run().native(), f"{AGENT_LOOP}.num_workers") == 8
    assert at(run({"agent_instances[0].executor_num": 3}).native(), f"{AGENT_LOOP}.num_workers") == 3
    of_verl = {f"{CONF}.{AGENT_LOOP}.num_workers": 5, "agent_instances[0].executor_num": 3}
    assert at(run(of_verl).native(), f"{AGENT_LOOP}.num_workers") == 5


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("train_instances[0].executor_num", 2),
        ("train_instances[0].resource_info", [{"NPU": 4}]),
        ("train_instances[0].executor_kwargs.rollout_config.depth", 2),
        ("agent_instances[0].resource_info", [{"CPU": 4}]),
        (f"{ENGINE}.token_in_token_out", False),
        (f"{ENGINE}.patience", 1),
        (f"{ENGINE}.env_args.colour", "red"),
        (f"{KWARGS}.infer_service_params.repetition_penalty", 1.1),
    ],
)
def test_what_has_no_effect_is_told(key: str, value: Any) -> None:
    (found,) = [one for one in run({key: value}).problems() if one.code == "ARL551" and one.key == key]
    assert found.severity == "warning"
    assert found.line is not None
    assert not [one for one in run().problems() if one.key == key]


def test_what_verl_takes_and_never_reads_is_told() -> None:
    key = f"{CONF}.{ROLLOUT}.do_sample"
    assert said(run({key: False}), key) == [
        "note ARL551 false has no effect: verl's rollouts sample as temperature says; 0 takes the likeliest token"
    ]
    assert said(run({key: True}), key) == []


def test_an_inference_instance_is_not_asked_while_verl_trains() -> None:
    (found,) = said(run(), "infer_instances[0]")
    assert found.startswith("note ARL551 POLICY is not asked while this trains")
    assert found.endswith("on the devices of `trainer`")
    (found,) = said(run({"train_instances[0].executor_kwargs.cluster_mode": "one_step_off"}), "infer_instances[0]")
    assert found.endswith("on devices apart from those that train")
