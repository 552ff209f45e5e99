"""Real vLLM on a CPU. Skipped where it is not installed; the nox session integration-verl has it."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

collect_ignore_glob = [] if find_spec("vllm") else ["test_*.py"]

ENVIRONMENT = {
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_CPU_OMP_THREADS_BIND": "auto",
    "VLLM_HOST_IP": "127.0.0.1",
    "GLOO_SOCKET_IFNAME": "lo",
    "HF_HUB_OFFLINE": "1",
    "VLLM_NO_USAGE_STATS": "1",
    "VLLM_LOGGING_LEVEL": "WARN",
}


@pytest.fixture(scope="session")
def vllm_environment() -> dict[str, str]:
    """Set for this process, too: vLLM in process starts its engine core with it."""
    os.environ.update(ENVIRONMENT)
    return {**os.environ}


@pytest.fixture(scope="session")
def model_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random Qwen3 of 0.1 million parameters whose predictions differ, with the tokenizer of the tests."""
    folder = tmp_path_factory.mktemp("model")
    write_model(folder, seed=0)
    return folder


def write_model(folder: Path, *, seed: int) -> Any:
    import torch
    import transformers

    from rollout_doubles import make_tokenizer

    tokenizer = make_tokenizer()
    torch.manual_seed(seed)
    config = transformers.Qwen3Config(
        vocab_size=len(tokenizer),
        hidden_size=64,
        intermediate_size=96,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=2,
        head_dim=32,
        max_position_embeddings=512,
        initializer_range=0.3,
        eos_token_id=tokenizer.eos_token_id,
        dtype="float32",
    )
    model = transformers.Qwen3ForCausalLM(config)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return model
