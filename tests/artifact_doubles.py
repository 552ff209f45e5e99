"""Small files of the kinds that a configuration names: a complete model folder, tasks in verl's layout."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from agentic_rl.config.artifacts import Artifacts, read
from agentic_rl.config.secure_paths import check_path, fix_permissions

Row = dict[str, Any]
CONFIG = {
    "architectures": ["Qwen2ForCausalLM"],
    "model_type": "qwen2",
    "num_hidden_layers": 2,
    "hidden_size": 64,
    "num_attention_heads": 8,
    "num_key_value_heads": 4,
    "intermediate_size": 128,
    "vocab_size": 512,
    "max_position_embeddings": 32768,
    "tie_word_embeddings": True,
}
TEMPLATE = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"


def _bytes_as_words() -> dict[str, int]:
    """The printable stand-ins of byte-level tokenizers: every byte is a token."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = iter(range(256, 512))
    return {chr(byte if byte in plain else next(others)): byte for byte in range(256)}


TOKENIZER: dict[str, Any] = {
    "version": "1.0",
    "added_tokens": [],
    "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True},
    "model": {"type": "BPE", "vocab": _bytes_as_words(), "merges": []},
}


def safetensors(tensors: Mapping[str, int], *, cut: int = 0) -> bytes:
    """A file of one-dimensional BF16 tensors, by name and length; `cut` bytes are missing at its end."""
    header, end = {}, 0
    for name, length in tensors.items():
        header[name] = {"dtype": "BF16", "shape": [length], "data_offsets": [end, end + 2 * length]}
        end += 2 * length
    text = json.dumps(header).encode()
    whole = struct.pack("<Q", len(text)) + text + b"\0" * end
    return whole[: len(whole) - cut]


def write_model(folder: Path, **config: Any) -> Path:
    """A model folder that lacks nothing: config.json (changed by keywords), weights, tokenizer, chat template."""
    folder.mkdir(parents=True, exist_ok=True)
    files: dict[str, Any] = {
        "config.json": CONFIG | config,
        "tokenizer.json": TOKENIZER,
        "tokenizer_config.json": {"chat_template": TEMPLATE},
    }
    for name, tree in files.items():
        (folder / name).write_text(json.dumps(tree))
    (folder / "model.safetensors").write_bytes(safetensors({"model.norm.weight": 64}))
    return folder


def task_rows(count: int, **changes: Any) -> list[Row]:
    """Rows in verl's layout."""
    return [
        {
            "data_source": "some/source",
            "prompt": [{"role": "user", "content": f"question {number}"}],
            "reward_model": {"style": "rule", "ground_truth": str(number)},
            "extra_info": {"index": number},
            **changes,
        }
        for number in range(count)
    ]


def write_rows(path: Path, rows: Sequence[Row], **options: Any) -> Path:
    """A parquet file of `rows`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(list(rows)), path, **options)
    return path


def read_artifacts(paths: Mapping[str, Path], **values: Any) -> Artifacts:
    """What the readers say of `paths` (by dotted key), which are given the documented modes first."""
    fix_permissions([str(path) for path in paths.values()])
    checks = {key: check_path(str(path), key) for key, path in paths.items()}
    checked = {key: check.checked for key, check in checks.items() if check.checked}
    named = {key: str(path) for key, path in paths.items()}
    return read({"train_backend": "verl", "agent_name": "math", **named, **values}, checked, {})
