"""The samples of the documentation, indented as meant."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from agentic_rl.config.flat import Validated, check_files
from agentic_rl.config.source import parse

Check = Callable[..., Validated]

SHARED = """\
tokenizer_name_or_path: {root}/model
model_name: qwen2.5-7b
agent_name: math
agent_engine_wrapper_path: {root}/rllm_engine_wrapper.py
use_stepwise_advantage: false
train_backend: {backend}
max_model_len: 10240
gpu_memory_utilization: 0.7
infer_tensor_parallel_size: 4
max_tokens: 1024
top_k: 10
num_gpus_per_node: 4
max_prompt_length: 1024
max_num_seqs: 8
rollout_n: 1
lr: 0.000005
entropy_coeff: 0.01
use_tensorboard: true
"""
MINDSPEED_RL = """\
dataset_additional_keys: ["problem", "answer"]
mindspeed_rl:
  data_path: {root}/data
  load_params_path: {root}/params
  save_params_path: {root}/save_params
"""
VERL = """\
verl:
  total_epochs: 1
  total_training_steps: 100
  save_freq: 100
  train_batch_size: 4
  val_batch_size: 4
  project_name: default-agent
  experiment_name: default-experiment
  train_files: {root}/train.parquet
  val_files: {root}/test.parquet
"""
SAMPLES = [("mindspeed_rl", SHARED + MINDSPEED_RL), ("verl", SHARED + VERL)]
WRAPPER = """\
from agentic_rl import BaseEngineWrapper


class Wrapper(BaseEngineWrapper):
    def generate_agent_trajectories_async(self, tasks):
        return []
"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """The files that both samples name, with the modes that are asked for."""
    root = tmp_path.resolve()
    files = ["model/config.json", "params/release/model.pt", "train.parquet", "test.parquet"]
    for name in [*files, "data_document.bin", "data_document.idx", "save_params/keep"]:
        path = root / name
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_text("{}")
    (root / "rllm_engine_wrapper.py").write_text(WRAPPER)
    for path in [root, *root.rglob("*")]:
        path.chmod(0o750 if path.is_dir() else 0o640)
    return root


@pytest.mark.parametrize(("backend", "text"), SAMPLES, ids=["mindspeed_rl", "verl"])
def test_sample_loads_without_an_error(backend: str, text: str, tree: Path, check_tree: Check) -> None:
    result = check_tree(parse(text.format(root=tree, backend=backend), "config.yaml").tree)
    # Groups of one, and the default max_num_batched_tokens, 8192, below the sample's max_model_len, 10240.
    severities = {one.code: one.severity for one in result.findings if one.severity != "note"}
    assert severities == {"ARL213": "warning", "ARL242": "warning"}
    assert result.config is not None
    assert result.config.train_backend == backend
    files = check_files(result.values, lambda key: None)
    assert files.findings == []
    named = {"tokenizer_name_or_path", "agent_engine_wrapper_path"}
    section = {"verl": {"train_files", "val_files"}, "mindspeed_rl": {"load_params_path", "save_params_path"}}
    # A prefix stands for several files, so there is no one file to open later.
    assert set(files.checked) == named | {f"{backend}.{name}" for name in section[backend]}


def test_sample_of_the_page_without_its_indentation(check_tree: Check) -> None:
    text = (SHARED + MINDSPEED_RL).replace("  ", "").format(root="", backend="mindspeed_rl")
    result = check_tree(parse(text, "config.yaml").tree)
    assert [one.key for one in result.findings if one.severity == "error"] == ["mindspeed_rl"]
