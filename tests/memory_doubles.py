"""Facts of a published model, and values of the smallest configurations."""

from __future__ import annotations

from typing import Any

from agentic_rl.config.flat import FlatConfig, LocalSection, MindSpeedSection, VerlSection

QWEN3_8B = {
    "@model.num_hidden_layers": 36,
    "@model.hidden_size": 4096,
    "@model.num_attention_heads": 32,
    "@model.num_key_value_heads": 8,
    "@model.head_dim": 128,
    "@model.intermediate_size": 12288,
    "@model.vocab_size": 151936,
    "@model.parameters": 8_190_000_000,
    "@model.tie_word_embeddings": False,
    "@model.model_type": "qwen3",
}
SECTIONS: dict[str, Any] = {
    "verl": VerlSection(train_files="/train.parquet", val_files="/test.parquet"),
    "local": LocalSection(train_files="/train.parquet", val_files="/test.parquet"),
    "mindspeed_rl": MindSpeedSection(data_path="/data", load_params_path="/params", save_params_path="/out"),
}


def values_of(backend: str, **changes: Any) -> dict[str, Any]:
    """Values and facts by dotted key; changes as `verl__train_batch_size` or `max_num_seqs`."""
    config = FlatConfig(tokenizer_name_or_path="/model", agent_name="math", train_backend=backend)
    values = config.model_dump(exclude=set(SECTIONS))
    values |= {f"{backend}.{key}": value for key, value in SECTIONS[backend].model_dump().items()}
    return values | QWEN3_8B | {key.replace("__", "."): value for key, value in changes.items()}
