"""Loading a policy from a folder, and the device it goes to."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import PreTrainedModel

from agentic_rl.backends.local import policy as policy_module
from agentic_rl.backends.local.policy import PolicyError, load_policy, resolve_device
from learning_doubles import largest_difference, tiny_policy, weights
from rollout_doubles import CHATML, make_tokenizer

CPU = torch.device("cpu")


def chat_policy() -> PreTrainedModel:
    return tiny_policy(vocab_size=len(make_tokenizer()))


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("model")
    chat_policy().to(torch.bfloat16).save_pretrained(folder)
    make_tokenizer(CHATML).save_pretrained(folder)
    return folder


@pytest.fixture
def folder(whole, tmp_path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / "model"))


def test_model_and_tokenizer_come_from_the_folder(whole):
    model, tokenizer = load_policy(whole, CPU)
    assert largest_difference(weights(chat_policy()), weights(model)) < 0.01
    assert {parameter.dtype for parameter in model.parameters()} == {torch.float32}
    assert not model.training
    assert tokenizer.apply_chat_template([{"role": "user", "content": "ab"}], tokenize=False).startswith("<|im_start|>")


@pytest.mark.parametrize("damage", ["no folder", "no config.json"])
def test_what_is_not_a_model_folder_is_named(folder, damage):
    if damage == "no folder":
        folder = folder / "absent"
    else:
        (folder / "config.json").unlink()
    with pytest.raises(PolicyError, match=re.escape(f"{folder} is not a model folder (no config.json in it)")):
        load_policy(folder, CPU)


def test_a_folder_without_weights_is_an_error(folder):
    (folder / "model.safetensors").unlink()
    with pytest.raises(PolicyError, match=r"the model in .* can't be loaded"):
        load_policy(folder, CPU)


def test_damaged_weights_are_an_error(folder):
    (folder / "model.safetensors").write_bytes(b"\xff" * 100)
    with pytest.raises(PolicyError, match=r"the model in .* can't be loaded"):
        load_policy(folder, CPU)


def test_an_unknown_architecture_is_an_error(folder):
    (folder / "config.json").write_text(json.dumps({"model_type": "nonesuch"}))
    with pytest.raises(PolicyError, match="nonesuch"):
        load_policy(folder, CPU)


def test_weights_that_lack_a_tensor_are_an_error(folder):
    tensors = load_file(folder / "model.safetensors")
    del tensors["model.layers.1.mlp.up_proj.weight"]
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(PolicyError, match=r"lack 1 tensors of its config.json, among them model.layers.1.mlp.up_proj"):
        load_policy(folder, CPU)


def test_a_folder_without_tokenizer_is_an_error(folder):
    (folder / "tokenizer.json").unlink()
    with pytest.raises(PolicyError, match=r"there is no tokenizer in .*; put the model's tokenizer.json"):
        load_policy(folder, CPU)


def test_a_damaged_tokenizer_is_an_error(folder):
    (folder / "tokenizer.json").write_text('{"version": "1.0"')
    with pytest.raises(PolicyError, match=r"the tokenizer in .* can't be loaded"):
        load_policy(folder, CPU)


def test_a_tokenizer_of_another_model_is_an_error(folder):
    tiny_policy(vocab_size=20).save_pretrained(folder)
    with pytest.raises(PolicyError, match=r"has 266 tokens and the model only 20 embeddings"):
        load_policy(folder, CPU)


def test_a_tokenizer_without_chat_template_is_an_error(folder):
    (folder / "chat_template.jinja").unlink()
    with pytest.raises(PolicyError, match="has no chat template"):
        load_policy(folder, CPU)


def test_code_of_a_model_is_run_only_where_it_is_trusted(folder):
    proof = folder / "ran"
    code = "from transformers import Qwen3Config\nimport pathlib\n"
    code += f"pathlib.Path({str(proof)!r}).touch()\nclass Custom(Qwen3Config):\n    model_type = 'custom'\n"
    (folder / "custom.py").write_text(code)
    config = json.loads((folder / "config.json").read_text())
    config |= {"model_type": "custom", "auto_map": {"AutoConfig": "custom.Custom"}}
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(PolicyError, match="trust_remote_code"):
        load_policy(folder, CPU)
    assert not proof.exists()


def test_auto_takes_an_npu_before_a_gpu_before_the_cpu(monkeypatch):
    monkeypatch.setattr(policy_module, "_npu_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert policy_module.present_devices() == ["npu", "gpu", "cpu"]
    monkeypatch.setattr(policy_module, "_npu_available", lambda: False)
    assert resolve_device("auto") == torch.device("cuda")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert resolve_device("auto") == CPU
    assert resolve_device("cpu") == CPU


@pytest.mark.parametrize("name", ["npu", "gpu"])
def test_a_device_that_is_not_there_is_an_error(name, monkeypatch):
    monkeypatch.setattr(policy_module, "_npu_available", lambda: False)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(PolicyError, match=rf"device: {name} is not available .*\(found: cpu\)"):
        resolve_device(name)
