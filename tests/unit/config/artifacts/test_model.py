from __future__ import annotations

import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentic_rl.config.artifacts import Artifacts
from agentic_rl.config.artifacts.model_size import parameters
from artifact_doubles import CONFIG, TEMPLATE, TOKENIZER, read_artifacts, safetensors, write_model

KEY = "tokenizer_name_or_path"
Change = Callable[[Path], object]


def look(folder: Path, **values: Any) -> Artifacts:
    return read_artifacts({KEY: folder}, **values)


def told(folder: Path, **values: Any) -> list[str]:
    return [f"{one.severity} {one.code} {one.message}" for one in look(folder, **values).findings]


def put(name: str, content: Any) -> Change:
    """Write a file of the folder: bytes as they are, anything else as JSON."""
    data = content if isinstance(content, bytes) else json.dumps(content).encode()
    return lambda folder: (folder / name).write_bytes(data)


def drop(*names: str) -> Change:
    return lambda folder: [(folder / name).unlink() for name in names]


def many(*changes: Change) -> Change:
    return lambda folder: [change(folder) for change in changes]


def config(**changes: Any) -> Change:
    return put("config.json", CONFIG | changes)


def template(text: Any) -> Change:
    return put("tokenizer_config.json", {"chat_template": text})


def shards(**files: bytes) -> Change:
    """Weights in two files with an index."""
    names = {"a": "model-00001-of-00002.safetensors", "b": "model-00002-of-00002.safetensors"}
    index = put("model.safetensors.index.json", {"weight_map": names})
    return many(drop("model.safetensors"), index, *(put(names[name], data) for name, data in files.items()))


FIRST, SECOND = safetensors({"a": 4}), safetensors({"b": 4})
HEADERLESS = struct.pack("<Q", 1 << 60) + b"{}"
WRONG_SHAPE = FIRST.replace(b'"shape": [4]', b'"shape": [5]')

BAD = [
    (drop("config.json"), "error ARL430", "config.json is missing"),
    (put("config.json", b""), "error ARL431", "config.json is empty"),
    (
        put("config.json", b"{\n 'a': 1}"),
        "error ARL431",
        "is not JSON: Expecting property name enclosed in double quotes",
    ),
    (put("config.json", [1]), "error ARL431", "holds no JSON object"),
    (put("config.json", b"\xff\xfe"), "error ARL431", "is not UTF-8 text"),
    (put("config.json", b'{"a":' * 100_000), "error ARL431", "is nested too deep"),
    (put("config.json", b'{"a":' + b"9" * 5000 + b"}"), "error ARL431", "a number of thousands of digits"),
    (config(num_hidden_layers="24"), "error ARL432", "num_hidden_layers is '24'; it must be a whole number above 0"),
    (config(num_hidden_layers=-1), "error ARL432", "num_hidden_layers is -1"),
    (config(hidden_size=True), "error ARL432", "hidden_size is true"),
    (config(vocab_size=2.5), "error ARL432", "vocab_size is 2.5"),
    (config(num_key_value_heads=3), "error ARL432", "num_attention_heads is 8, no multiple of num_key_value_heads, 3"),
    (config(architectures=[]), "warning ARL433", "architectures is []"),
    (config(architectures=["BertForMaskedLM"]), "error ARL438", "'BertForMaskedLM' is no causal language model"),
    (config(architectures=["Qwen2ForSequenceClassification"]), "error ARL438", "is no causal language model"),
    (config(architectures=["Qwen2Model"]), "warning ARL438", "is no causal language model"),
    (config(quantization_config={"quant_method": "awq"}), "warning ARL439", "the weights are quantized ('awq')"),
    (config(quantization_config={"bits": 4}), "warning ARL439", "the weights are quantized, which"),
    (config(model_type=None), "warning ARL433", "model_type is null"),
    (drop("model.safetensors"), "error ARL434", "has no weights"),
    (many(drop("model.safetensors"), put("adapter_config.json", {})), "error ARL434", "it is an adapter"),
    (many(drop("model.safetensors"), put("q.gguf", b"G")), "error ARL434", "has no weights but a GGUF file"),
    (shards(a=FIRST), "error ARL435", "names 2 files, of which 1 are missing: model-00002-of-00002.safetensors"),
    (
        many(drop("model.safetensors"), put("model-00002-of-00003.safetensors", FIRST)),
        "error ARL435",
        "has 1 of 3 files of weights and lacks: model.safetensors.index.json, model-00001-of-00003.safetensors, mod",
    ),
    (put("model.safetensors", b""), "error ARL436", "model.safetensors is empty"),
    (put("model.safetensors", FIRST[:5]), "error ARL436", "has 5 bytes; the length of the header alone has 8"),
    (put("model.safetensors", FIRST[:20]), "error ARL436", "says that its header has"),
    (put("model.safetensors", HEADERLESS), "error ARL436", "says that its header has over a million GB"),
    (
        put("model.safetensors", FIRST[:-3]),
        "error ARL436",
        "is cut off: its tensors have 8 bytes, of which 5 bytes are",
    ),
    (put("model.safetensors", FIRST + b"\0"), "error ARL436", "has 1 byte after the end of its last tensor"),
    (
        put("model.safetensors", WRONG_SHAPE),
        "error ARL436",
        "gives 'a' 8 bytes, which is not its shape times its width",
    ),
    (put("model.safetensors", b"version https://git-lfs.github.com/spec/v1\n"), "error ARL436", "pointer of Git LFS"),
    (put("model.safetensors", struct.pack("<Q", 8) + b'{"a": 1}'), "error ARL436", "does not say where 'a' lies"),
    (shards(a=FIRST, b=b""), "error ARL436", "model-00002-of-00002.safetensors is empty"),
    (shards(a=b"", b=b""), "error ARL436", "model-00001-of-00002.safetensors is empty (and 1 more of its files)"),
    (shards(a=FIRST, b=FIRST), "error ARL436", "lacks the tensor 'b', which the index says it has"),
    (many(drop("model.safetensors"), put("pytorch_model.bin", b"text")), "error ARL436", "no file that torch wrote"),
    (many(shards(), put("model.safetensors.index.json", {})), "error ARL437", "has no weight_map"),
    (
        many(shards(), put("model.safetensors.index.json", {"weight_map": {"a": "../x"}})),
        "error ARL437",
        "gives 'a' no",
    ),
    (drop("tokenizer.json"), "error ARL440", "has no tokenizer: neither tokenizer.json nor"),
    (many(drop("tokenizer.json"), put("vocab.json", {})), "error ARL440", "has no tokenizer"),
    (many(drop("tokenizer.json"), put("tokenizer.model", b"")), "error ARL441", "tokenizer.model is empty"),
    (put("tokenizer.json", b"{"), "error ARL441", "tokenizer.json is not JSON"),
    (put("tokenizer.json", {}), "error ARL441", "tokenizer.json has no model"),
    (put("tokenizer.json", b'{"model": ' + b" " * (2 << 20)), "error ARL441", "is cut off after 2.1 MB"),
    (put("tokenizer_config.json", b"x"), "error ARL441", "tokenizer_config.json is not JSON"),
    (config(vocab_size=200), "warning ARL442", "has the token number 255, but the model's vocab_size is 200"),
    (put("tokenizer_config.json", {}), "error ARL443", "has no chat template"),
    (drop("tokenizer_config.json"), "error ARL443", "has no chat template"),
    (template(""), "error ARL444", "is empty"),
    (template(5), "error ARL444", "is a int in tokenizer_config.json; it must be text"),
    (template("hello"), "error ARL444", "never mentions messages"),
    (template(TEMPLATE[:-20]), "error ARL444", "does not parse: "),
    (put("chat_template.jinja", b"\xff"), "error ARL444", "is not UTF-8 text"),
]


@pytest.mark.parametrize(("change", "head", "message"), BAD)
def test_a_folder_that_lacks_something(change: Change, head: str, message: str, tmp_path: Path) -> None:
    change(write_model(tmp_path / "model"))
    (found,) = told(tmp_path / "model")
    assert found.startswith(head)
    assert message in found


GOOD = [
    lambda folder: None,
    shards(a=FIRST, b=SECOND),
    many(put("model.safetensors.index.json", {"weight_map": {"a": "gone.safetensors"}})),  # the one file wins
    many(drop("model.safetensors"), put("pytorch_model.bin", b"PK\x03\x04")),
    many(drop("tokenizer.json"), put("vocab.json", {}), put("merges.txt", b"a b")),
    many(drop("tokenizer.json"), put("qwen.tiktoken", b"x")),
    put("tokenizer.json", json.dumps({**TOKENIZER, "pad": "x" * (2 << 20)}).encode()),
    many(drop("tokenizer_config.json"), put("chat_template.jinja", TEMPLATE.encode())),
    template([{"name": "default", "template": TEMPLATE}]),
    template(TEMPLATE + "{% generation %}{{ '{% if' }}{% endgeneration %}{# {% for #}"),
    config(num_local_experts=0, rope_scaling=None, head_dim=None),
    config(model_type="gpt2", n_layer=3),
]


@pytest.mark.parametrize("change", GOOD)
@pytest.mark.parametrize("backend", ["verl", "local", "mindspeed_rl"])
def test_a_complete_folder_has_no_finding(change: Change, backend: str, tmp_path: Path) -> None:
    change(write_model(tmp_path / "model"))
    assert told(tmp_path / "model", train_backend=backend) == []


def test_mindspeed_rl_reads_only_the_tokenizer_from_the_folder(tmp_path: Path) -> None:
    folder = write_model(tmp_path / "model")
    drop("config.json", "model.safetensors", "tokenizer_config.json")(folder)
    (found,) = told(folder, train_backend="mindspeed_rl")
    assert found.startswith("warning ARL443")


def test_facts_of_a_model(tmp_path: Path) -> None:
    facts = look(write_model(tmp_path / "model", torch_dtype="bfloat16")).facts
    assert {name.removeprefix("@model."): value for name, value in facts.items() if name.startswith("@model.")} == {
        "num_hidden_layers": 2,
        "hidden_size": 64,
        "num_attention_heads": 8,
        "num_key_value_heads": 4,
        "head_dim": 8,
        "intermediate_size": 128,
        "vocab_size": 512,
        "max_position_embeddings": 32768,
        "architecture": "Qwen2ForCausalLM",
        "model_type": "qwen2",
        "torch_dtype": "bfloat16",
        "tie_word_embeddings": True,
        "parameters": 512 * 64 + 2 * (2 * 64 * 64 + 2 * 64 * 32 + 3 * 64 * 128),
    }


@pytest.mark.parametrize(
    ("changes", "positions"),
    [
        ({"rope_scaling": {"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768}}, 131072),
        ({"rope_scaling": {"rope_type": "yarn", "factor": 2.0, "original_max_position_embeddings": 1024}}, 2048),
        ({"rope_scaling": {"rope_type": "linear", "factor": 2.0}}, 65536),
        ({"rope_scaling": {"rope_type": "llama3", "factor": 8.0}}, 32768),
        ({"rope_parameters": {"rope_type": "default", "rope_theta": 1e6}}, 32768),
        ({"rope_scaling": {"type": "yarn", "factor": "4"}}, 32768),
        ({"rope_scaling": "yarn"}, 32768),
    ],
)
def test_the_context_includes_its_scaling(changes: dict[str, Any], positions: int, tmp_path: Path) -> None:
    assert look(write_model(tmp_path / "model", **changes)).facts["@model.max_position_embeddings"] == positions


def test_the_text_part_of_a_model_with_several_parts_counts(tmp_path: Path) -> None:
    parts = {"architectures": ["VLForConditionalGeneration"], "model_type": "qwen2_vl", "text_config": CONFIG}
    folder = write_model(tmp_path / "model")
    put("config.json", parts)(folder)
    facts = look(folder).facts
    assert facts["@model.num_hidden_layers"] == 2
    assert facts["@model.architecture"] == "VLForConditionalGeneration"


SEVEN_B = {
    "model_type": "qwen2",
    "num_hidden_layers": 28,
    "hidden_size": 3584,
    "num_attention_heads": 28,
    "num_key_value_heads": 4,
    "head_dim": 128,
    "intermediate_size": 18944,
    "vocab_size": 152064,
    "tie_word_embeddings": False,
}
THIRTY_B = {
    **SEVEN_B,
    "model_type": "qwen3_moe",
    "num_hidden_layers": 48,
    "hidden_size": 2048,
    "num_attention_heads": 32,
    "num_experts": 128,
    "moe_intermediate_size": 768,
    "vocab_size": 151936,
}


@pytest.mark.parametrize(("facts", "billions"), [(SEVEN_B, 7.6156), (THIRTY_B, 30.532)])
def test_parameters_agree_with_the_published_numbers(facts: dict[str, Any], billions: float) -> None:
    assert parameters(facts, facts) == pytest.approx(billions * 1e9, rel=1e-3)


def test_parameters_of_other_builds_are_not_guessed() -> None:
    assert parameters(SEVEN_B, SEVEN_B | {"model_type": "mamba"}) is None
    assert parameters(SEVEN_B, SEVEN_B | {"kv_lora_rank": 512}) is None
    assert parameters({**SEVEN_B, "vocab_size": 1} | {"hidden_size": 1}, {"model_type": "gpt2"}) is None
    lacking = {name: value for name, value in SEVEN_B.items() if name != "intermediate_size"}
    assert parameters(lacking, lacking) is None


def test_a_configuration_of_gigabytes_is_not_read(tmp_path: Path) -> None:
    folder = write_model(tmp_path / "model")
    with (folder / "config.json").open("r+b") as file:
        file.truncate(2 << 30)
    (found,) = told(folder)
    assert found.startswith("error ARL431")
    assert "has 2.1 GB; a file of this kind has at most 4.2 MB" in found


@pytest.mark.parametrize(
    "architecture", ["GPT2LMHeadModel", "Gemma3ForConditionalGeneration", "Phi4ForCausalLMV", "InternVLChatModel"]
)
def test_architectures_that_write_text(architecture: str, tmp_path: Path) -> None:
    folder = write_model(tmp_path / "model", architectures=[architecture], quantization_config=None)
    assert told(folder) == []


def test_weights_that_are_not_trained(tmp_path: Path) -> None:
    folder = write_model(tmp_path / "model", architectures=["BertForMaskedLM"], quantization_config={"bits": 4})
    assert [line[:14] for line in told(folder, train_backend="mindspeed_rl")] == ["warning ARL438"]
    assert [line[:12] for line in told(folder, test_only=True)] == ["error ARL438"]


@pytest.mark.parametrize("backend", ["verl", "local", "mindspeed_rl"])
def test_a_file_is_no_model(backend: str, tmp_path: Path) -> None:
    file = write_model(tmp_path / "model") / "config.json"
    said = [f"error ARL466 {file} is a file; {backend} loads a model from its folder"]
    assert told(file, train_backend=backend) == ([] if backend == "mindspeed_rl" else said)
