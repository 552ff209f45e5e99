"""Whatever stands in a file that a configuration names, reading it gives findings and no exception."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from artifact_doubles import CONFIG, TEMPLATE, read_artifacts, task_rows, write_model, write_rows

Changes = list[tuple[int, int]]
changes = st.lists(st.tuples(st.integers(0, 1 << 16), st.integers(0, 255)), max_size=6)
leaves = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.just("qwen2")
trees = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
)
quiet = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)


def damaged(data: bytes, bytes_changed: Changes, length: int) -> bytes:
    changed = bytearray(data[: length % (len(data) + 1)] if length % 3 == 0 else data)
    for place, byte in bytes_changed if changed else ():
        changed[-1 - place % len(changed)] = byte
    return bytes(changed)


@pytest.fixture
def parquet(tmp_path: Path) -> Path:
    return write_rows(tmp_path / "good.parquet", task_rows(40), compression="zstd", row_group_size=20)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return write_model(tmp_path / "model")


@quiet
@given(changes, st.integers(0, 1 << 16))
def test_any_parquet_file(parquet: Path, bytes_changed: Changes, length: int) -> None:
    path = parquet.with_name("data.parquet")
    path.write_bytes(damaged(parquet.read_bytes(), bytes_changed, length))
    read_artifacts({"verl.train_files": path, "local.sft_files": path}, max_prompt_length=4)


@quiet
@given(st.dictionaries(st.sampled_from([*CONFIG, "text_config", "rope_scaling", "layer_types", "num_experts"]), trees))
def test_any_config(model: Path, values: dict[str, Any]) -> None:
    (model / "config.json").write_text(json.dumps(CONFIG | values))
    read_artifacts({"tokenizer_name_or_path": model})


@quiet
@given(st.sampled_from(["tokenizer.json", "tokenizer_config.json", "model.safetensors.index.json"]), trees)
def test_any_json(model: Path, name: str, tree: Any) -> None:
    (model / "model.safetensors").unlink(missing_ok=True)
    (model / name).write_text(
        json.dumps({"model": tree, "chat_template": tree, "weight_map": tree, "added_tokens": tree})
    )
    read_artifacts({"tokenizer_name_or_path": model})


@quiet
@given(changes, st.integers(0, 1 << 16), st.text(max_size=20))
def test_any_weights_and_any_template(model: Path, bytes_changed: Changes, length: int, text: str) -> None:
    whole = write_model(model) / "model.safetensors"
    whole.write_bytes(damaged(whole.read_bytes(), bytes_changed, length))
    (model / "chat_template.jinja").write_bytes(damaged((TEMPLATE + text).encode(), bytes_changed, length))
    read_artifacts({"tokenizer_name_or_path": model})


@quiet
@given(st.binary(max_size=200) | st.text(alphabet='{}[]",:a1 \n', max_size=60).map(str.encode))
def test_any_rows(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(data)
    values: dict[str, Any] = {"train_backend": "mindspeed_rl", "dataset_additional_keys": ["a"]}
    read_artifacts({"mindspeed_rl.data_path": path}, **values)
