"""verl's critic, loaded with the attention that the configuration names."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
from transformers import AutoConfig, Qwen2Config, Qwen2ForCausalLM

from agentic_rl.backends.verl.inside.patches import attend_as_configured


def test_a_critic_attends_as_configured_and_other_models_are_verls_affair(tmp_path: Path) -> None:
    sizes: dict[str, Any] = {"num_attention_heads": 2, "num_key_value_heads": 1, "max_position_embeddings": 64}
    config = Qwen2Config(vocab_size=32, hidden_size=16, intermediate_size=32, num_hidden_layers=1, **sizes)
    Qwen2ForCausalLM(config).save_pretrained(tmp_path)
    module = SimpleNamespace(load_valuehead_model=lambda *given: given)
    attend_as_configured(module)
    config = AutoConfig.from_pretrained(tmp_path, attn_implementation="eager")
    config.num_labels = 1
    critic = module.load_valuehead_model(str(tmp_path), torch.float32, config, False)
    assert critic.config._attn_implementation == "eager"
    assert critic(torch.tensor([[1, 2, 3]])).logits.shape == (1, 3, 1)
    assert module.load_valuehead_model("path", torch.float32, "no configuration", True)[0] == "path"
