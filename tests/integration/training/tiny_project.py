"""A project so small that a whole run takes a second: a random Qwen3 model, its tokenizer, and data files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from agentic_rl.config.secure_paths import fix_permissions
from agentic_rl.config.writing import make_folder

TEMPLATE = (
    "{%- for tool in tools or [] -%}{{- tool['function']['name'] + '\\n' -}}{%- endfor -%}"  # a byte is a token here
    "{%- for message in messages -%}"
    "{{- '<|im_start|>' + message['role'] + '\\n' + (message['content'] or '') -}}"
    "{{- '<|im_end|>\\n' -}}"
    "{%- endfor -%}"
    "{%- if add_generation_prompt -%}{{- '<|im_start|>assistant\\n' -}}{%- endif -%}"
)
VALUES: dict[str, Any] = {
    "agent_name": "math",
    "train_backend": "local",
    "device": "cpu",
    "seed": 3,
    "lr": 1e-2,
    "entropy_coeff": 0.01,
    "rollout_n": 4,
    "max_prompt_length": 64,
    "max_model_len": 128,
    "max_tokens": 12,
    "max_steps": 2,
    "temperature": 1.0,
    "top_k": -1,
    "min_p": 0.0,
    "keep_checkpoints": 2,
}
SECTION: dict[str, Any] = {
    "total_training_steps": 6,
    "save_freq": 2,
    "test_freq": 3,
    "train_batch_size": 4,
    "ppo_mini_batch_size": 2,
    "max_response_length": 24,
    "project_name": "tiny",
    "experiment_name": "first",
}


def make_project(folder: Path, section: dict[str, Any] | None = None, **values: Any) -> Path:
    """Write model, data and configuration below `folder`; the path of the configuration."""
    make_folder(folder)
    write_model(folder / "model")
    write_tasks(folder / "train.parquet", 10)
    write_tasks(folder / "test.parquet", 6)
    write_conversations(folder / "warmup.parquet")
    return write_config(folder, section, **values)


def write_config(folder: Path, section: dict[str, Any] | None = None, **values: Any) -> Path:
    """Write the configuration and give everything below `folder` the documented modes."""
    files = {"train_files": str(folder / "train.parquet"), "val_files": str(folder / "test.parquet")}
    tree = {"tokenizer_name_or_path": str(folder / "model"), **VALUES, **values}
    path = folder / "config.yaml"
    path.write_text(yaml.safe_dump({**tree, "local": {**files, **SECTION, **(section or {})}}))
    fix_permissions([str(folder)])
    return path


def write_model(folder: Path, hidden_size: int = 32, poison: bool = False) -> None:
    """A random Qwen3 model and a byte-level tokenizer with a ChatML template."""
    import torch
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    raw = Tokenizer(models.BPE(vocab={piece: number for number, piece in enumerate(alphabet)}, merges=[]))
    raw.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    raw.decoder = decoders.ByteLevel()
    special = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
    raw.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in special])
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=raw, pad_token=special[0], eos_token=special[2])
    tokenizer.chat_template = TEMPLATE
    torch.manual_seed(0)
    config = Qwen3Config(
        vocab_size=len(tokenizer),
        hidden_size=hidden_size,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=2,
        head_dim=16,
        max_position_embeddings=256,
        eos_token_id=tokenizer.eos_token_id,
        tie_word_embeddings=True,
    )
    model = Qwen3ForCausalLM(config)
    if poison:
        model.model.norm.weight.data.fill_(float("nan"))
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def write_tasks(path: Path, count: int) -> None:
    """Rows in verl's layout, from two sources."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = [
        {
            "data_source": f"sums/{number % 2}",
            "prompt": [{"role": "user", "content": f"{number}+1"}],
            "reward_model": {"style": "rule", "ground_truth": str(number + 1)},
            "extra_info": {"index": number},
        }
        for number in range(count)
    ]
    pq.write_table(pa.Table.from_pylist(rows), path)


def write_conversations(path: Path) -> None:
    """Conversations for a warm-up."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = [
        {"messages": [{"role": "user", "content": f"{number}+1"}, {"role": "assistant", "content": str(number + 1)}]}
        for number in range(6)
    ]
    pq.write_table(pa.Table.from_pylist(rows), path)
