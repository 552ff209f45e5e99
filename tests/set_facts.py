"""Sets of hosts.conf, base.conf and YAML files as facts: one that fits, and for each relation one that does not."""

from __future__ import annotations

from typing import Any

from agentic_rl.config.aura.base_conf import parse_base
from agentic_rl.config.aura.bundle_rules import RULES
from agentic_rl.config.aura.hosts import parse_hosts
from agentic_rl.config.rules import Facts, Problem, run

ONE = "192.0.2.10,0,1,1\n"
TWO = "192.0.2.10,0,0\n192.0.2.11,1,1\n"
INSTANCE = "train.train_instances[0].executor_kwargs"
MODEL_NAME = "train.infer_instances[0].executor_kwargs.engine_kwargs.model_name"
VERL = "train.verl_conf"
APART = {
    "hosts": TWO,
    "base.work_mode": "one_step_off",
    "base.monitor_cmd": "start_rl_with_verl_vllm.sh",
    "base.max_retries": 100,
    f"{INSTANCE}.cluster_mode": "one_step_off",
    f"{INSTANCE}.train_engine": "verl",
    f"{VERL}.trainer.nnodes": 1,
    f"{VERL}.trainer.n_gpus_per_node": 8,
    f"{VERL}.trainer.save_freq": 10,
    f"{VERL}.actor_rollout_ref.model.path": "/models/qwen",
    f"{VERL}.actor_rollout_ref.rollout.max_model_len": 4096,
    MODEL_NAME: "qwen",
    "infer.infer_model_name": "qwen",
    "infer.infer_model_path": "/models/qwen/",
    "infer.max_model_len": 4096,
    "infer.prefill_instance_count": 1,
    "infer.decode_instance_count": 0,
    "infer.tensor_parallel_size": 4,
    "infer.data_parallel_size": 2,
}
HYBRID = {
    **{key: value for key, value in APART.items() if not key.startswith("infer.")},
    "hosts": ONE,
    "base.work_mode": "hybrid",
    f"{INSTANCE}.cluster_mode": "hybrid",
}
BROKEN: dict[str, dict[str, Any]] = {
    "ARL630": {**APART, "hosts": ONE, "base.work_mode": "one_step_off"},
    "ARL631": {**APART, "hosts": "192.0.2.10,0,1\n192.0.2.11,1,0\n", f"{VERL}.trainer.nnodes": 2},
    "ARL632": {**HYBRID, "hosts": "192.0.2.10,0,1,0\n"},
    "ARL633": {**HYBRID, f"{INSTANCE}.cluster_mode": "one_step_off"},
    "ARL634": {**HYBRID, f"{VERL}.trainer.nnodes": 2},
    "ARL635": {**HYBRID, "base.monitor_cmd": "start_rl_with_msrl_vllm.sh"},
    "ARL636": {**HYBRID, f"{VERL}.trainer.save_freq": -1},
    "ARL637": {**APART, "infer.infer_model_path": "/models/other"},
    "ARL638": {**APART, "infer.infer_model_name": "Qwen"},
    "ARL639": {**APART, "infer.max_model_len": 2048},
    "ARL640": {**APART, "infer.tensor_parallel_size": 8},
}
"""Code -> facts on which its rule, and none besides it, has something to say."""
TEXTS = {
    "ARL607": "work_mode: hybrid\n",
    "ARL609": "max_retrys=3\n",
    "ARL610": "work_mode=hybrid\nwork_mode=one_step_off\n",
    "ARL611": "work_mode=one_step_off\n",
    "ARL612": "work_mode=hybird\n",
    "ARL613": "train_config_name=train.yaml\n",
    "ARL614": "work_mode=fully_async\n",
    "ARL615": "work_mode=hybrid\ninfer_config_name=infer\n",
}
"""Code -> a base.conf with its finding."""


def problems(values: dict[str, Any], written: set[str] | None = None) -> list[tuple[str, Problem]]:
    """Code and problem of each rule that has something to say; everything counts as written."""
    facts = {**values, "hosts": parse_hosts(values["hosts"])}
    return [
        (one.page.code, problem) for one, problem in run(RULES, Facts(facts, values if written is None else written))
    ]


def codes_of_base(text: str) -> set[str]:
    """The codes of what is found in a base.conf."""
    return {finding.code for finding in parse_base(text).findings}
