"""The inference YAML: what is read, and what is said at which place."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentic_rl.config.aura import inference
from agentic_rl.config.aura.inference import InferenceConfig, parse_inference, read_inference

GOOD = "infer_model_name: qwen\ninfer_model_path: /models/qwen\n"


def found(text: str) -> list[tuple[str, str, int | None]]:
    """Code, key and line of every finding."""
    return [(one.code, one.key, one.line) for one in parse_inference(text).findings]


def test_what_is_left_out_has_its_default() -> None:
    file = parse_inference(GOOD)
    assert file.findings == []
    assert file.config == InferenceConfig(infer_model_name="qwen", infer_model_path="/models/qwen")
    assert file.config is not None
    assert (file.config.instances, file.config.devices) == (1, 1)
    assert file.values["tensor_parallel_size"] == 1


def test_devices_are_those_of_all_instances() -> None:
    text = "pd_mode: 1\nprefill_instance_count: 2\ndecode_instance_count: 1\ntensor_parallel_size: 4\n"
    file = parse_inference(f"{GOOD}{text}data_parallel_size: 2\n")
    assert file.config is not None
    assert (file.config.instances, file.config.devices) == (3, 24)


def test_a_size_of_0_is_filled_in_at_launch() -> None:
    file = parse_inference(f"{GOOD}tensor_parallel_size: 0\ndata_parallel_size: 0\n")
    assert file.findings == []
    assert file.config is not None
    assert file.config.devices is None


@pytest.mark.parametrize(
    ("text", "finding"),
    [
        ("infer_model_path: /m\n", ("ARL619", "infer_model_name", 1)),
        (f"{GOOD}tensor_parallel_size: -1\n", ("ARL101", "tensor_parallel_size", 3)),
        (f"{GOOD}gpu_memory_utilization: 1.5\n", ("ARL101", "gpu_memory_utilization", 3)),
        (f"{GOOD}pd_mode: 2\n", ("ARL101", "pd_mode", 3)),
        (f"{GOOD}cudagraph_mode: full\n", ("ARL102", "cudagraph_mode", 3)),
        (f"{GOOD}vllm_version: 0.22\n", ("ARL030", "vllm_version", 3)),
        (f"{GOOD}cudagraph_capture_sizes: [4, 0]\n", ("ARL101", "cudagraph_capture_sizes[1]", 3)),
        (f"{GOOD}pd_mode: 1\n", ("ARL620", "decode_instance_count", 1)),
        (f"{GOOD}decode_instance_count: 1\n", ("ARL620", "decode_instance_count", 3)),
        (f"{GOOD}kv_backend: mooncake\n", ("ARL623", "kv_backend", 3)),
        (f"{GOOD}max_model_length: 4\n", ("ARL616", "max_model_length", 3)),
        (f"{GOOD}enable_vllm_stat: true\n", ("ARL617", "enable_vllm_stat", 3)),
    ],
)
def test_each_fault_is_found_once_at_its_place(text: str, finding: tuple[str, str, int]) -> None:
    assert found(text) == [finding]


def test_released_spellings_are_read() -> None:
    file = parse_inference(
        "infer_model_name: a\ninfer_mode_path: /m\nuse_pd_separate: true\ndecode_instance_count: 1\n"
    )
    assert [(one.code, one.severity, one.key) for one in file.findings] == [
        ("ARL618", "note", "infer_mode_path"),
        ("ARL618", "note", "use_pd_separate"),
    ]
    assert file.config is not None
    assert (file.config.infer_model_path, file.config.pd_mode) == ("/m", 1)


def test_of_two_spellings_the_documented_one_holds() -> None:
    file = parse_inference(f"{GOOD}infer_mode_path: /other\n")
    assert [(one.code, one.hint) for one in file.findings] == [("ARL616", "remove infer_mode_path")]
    assert file.values["infer_model_path"] == "/models/qwen"


def test_another_vllm_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inference, "version", lambda name: "0.28.0+cpu")
    assert found(f"{GOOD}vllm_version: 0.28.0\n") == []
    (finding,) = parse_inference(f"{GOOD}vllm_version: 0.22.1\n").findings
    assert (finding.code, finding.severity) == ("ARL621", "warning")
    assert "0.28.0+cpu is installed" in finding.message


def test_the_model_must_be_there(tmp_path: Path) -> None:
    file = tmp_path / "infer.yaml"
    model = tmp_path / "model"
    file.write_text(f"infer_model_name: a\ninfer_model_path: {model}\n")
    assert [one.message for one in read_inference(file).findings] == [f"{model} does not exist"]
    model.mkdir()
    (model / "config.json").write_text("{}")
    assert [one.message for one in read_inference(file).findings] == [f"{model} lacks weights (*.safetensors)"]
    (model / "model.safetensors").write_bytes(b"")
    assert read_inference(file).findings == []
    assert read_inference(tmp_path / "none.yaml").findings[0].code == "ARL001"


@pytest.mark.parametrize("text", ["", "- a\n", "a: [\n"])
def test_what_is_no_configuration_is_a_finding(text: str) -> None:
    file = parse_inference(text)
    assert file.config is None
    assert [one.severity for one in file.findings] == ["error"]
