from __future__ import annotations

from pathlib import Path

import torch
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM, AutoTokenizer, Qwen3ForCausalLM


def test_plain_transformers_loads_the_model(project: Path) -> None:
    model = AutoModelForCausalLM.from_pretrained(project / "model")
    tokenizer = AutoTokenizer.from_pretrained(project / "model")
    assert isinstance(model, Qwen3ForCausalLM)
    assert model.dtype is torch.float32
    assert 130_000 < sum(parameter.numel() for parameter in model.parameters()) < 140_000
    assert model.config.vocab_size == len(tokenizer)
    assert model.generation_config.eos_token_id == tokenizer.eos_token_id
    output = model.generate(**tokenizer("Ana has 12 pens.", return_tensors="pt"), max_new_tokens=3, do_sample=False)
    assert output.shape[1] > 4


def test_the_weights_are_random(project: Path) -> None:
    weights = load_file(project / "model" / "model.safetensors")
    matrices = [weight for weight in weights.values() if weight.ndim == 2]
    assert all(0.09 < float(weight.std()) < 0.11 and abs(float(weight.mean())) < 0.01 for weight in matrices)
