"""The policy: a transformers model and its tokenizer from a folder on this machine."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any, Literal

import torch
from safetensors import SafetensorError
from torch import nn
from transformers import AutoModelForCausalLM, AutoTokenizer, PreTrainedModel, PreTrainedTokenizerBase

Device = Literal["auto", "npu", "gpu", "cpu"]
VOCABULARIES = ("tokenizer.json", "*.model", "vocab*", "*.tiktoken")
"""File names in which tokenizers keep their vocabulary."""


class PolicyError(ValueError):
    """The model folder can't be used for training; the message says why and what to do."""


def resolve_device(name: Device) -> torch.device:
    """The torch device for a configured one; `auto` takes an NPU, else a GPU, else the CPU.

    Raises:
        PolicyError: the named device is not there.
    """
    present = present_devices()
    kind = present[0] if name == "auto" else name
    if kind not in present:
        found = ", ".join(present)
        raise PolicyError(f"device: {kind} is not available on this machine (found: {found}); use one of these or auto")
    return torch.device({"npu": "npu", "gpu": "cuda", "cpu": "cpu"}[kind])


def present_devices() -> list[str]:
    """The kinds of device on this machine, in the order in which `auto` prefers them."""
    available = {"npu": _npu_available(), "gpu": torch.cuda.is_available(), "cpu": True}
    return [kind for kind, there in available.items() if there]


def load_policy(
    path: str | Path, device: torch.device, *, trust_remote_code: bool = False
) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """Load model (fp32) and tokenizer from the folder `path`; nothing is fetched from anywhere.

    The model is in evaluation mode, in which it stays: dropout would make the probabilities of rollout and
    training differ.

    Raises:
        PolicyError: not a model folder, no tokenizer or no chat template in it, or a model that needs its own code
            while `trust_remote_code` is off.
    """
    folder = Path(path)
    if not (folder / "config.json").is_file():
        raise PolicyError(
            f"tokenizer_name_or_path: {folder} is not a model folder (no config.json in it); "
            "name a folder written by save_pretrained"
        )
    tokenizer = _load_tokenizer(folder, trust_remote_code)
    model = _load_model(folder, trust_remote_code)
    embedded = next(model.get_input_embeddings().parameters()).shape[0]
    if len(tokenizer) > embedded:
        raise PolicyError(
            f"tokenizer_name_or_path: the tokenizer in {folder} has {len(tokenizer)} tokens and the model only "
            f"{embedded} embeddings; they don't belong together"
        )
    nn.Module.to(model, device)
    return model.eval(), tokenizer


def _load_model(folder: Path, trust_remote_code: bool) -> PreTrainedModel:
    try:
        loaded: Any = AutoModelForCausalLM.from_pretrained(
            folder,
            dtype=torch.float32,
            local_files_only=True,
            trust_remote_code=trust_remote_code,
            output_loading_info=True,
        )
    except (OSError, ValueError, KeyError, RuntimeError, SafetensorError) as error:
        raise PolicyError(f"tokenizer_name_or_path: the model in {folder} can't be loaded: {error}") from error
    policy: PreTrainedModel = loaded[0]
    missing: set[str] = loaded[1]["missing_keys"]
    if missing:
        # transformers would fill them with random numbers and go on.
        raise PolicyError(
            f"tokenizer_name_or_path: the weights in {folder} lack {len(missing)} tensors of its config.json, "
            f"among them {min(missing)}"
        )
    return policy


def _load_tokenizer(folder: Path, trust_remote_code: bool) -> PreTrainedTokenizerBase:
    # Without a vocabulary transformers makes an empty tokenizer of the model's kind.
    if not any(file for pattern in VOCABULARIES for file in folder.glob(pattern)):
        raise PolicyError(
            f"tokenizer_name_or_path: there is no tokenizer in {folder}; put the model's tokenizer.json and "
            "tokenizer_config.json there"
        )
    try:
        tokenizer: PreTrainedTokenizerBase = AutoTokenizer.from_pretrained(
            folder, local_files_only=True, trust_remote_code=trust_remote_code
        )
    except Exception as error:  # the tokenizers library raises plain Exception for a broken file
        raise PolicyError(
            f"tokenizer_name_or_path: the tokenizer in {folder} can't be loaded: {error}; "
            "copy tokenizer.json and tokenizer_config.json from the model again"
        ) from error
    if not tokenizer.chat_template:
        raise PolicyError(
            f"tokenizer_name_or_path: the tokenizer in {folder} has no chat template, so messages can't become "
            "tokens; use an instruct model or put a chat_template.jinja there"
        )
    return tokenizer


def _npu_available() -> bool:
    if importlib.util.find_spec("torch_npu") is None:
        return False
    return bool(importlib.import_module("torch_npu").npu.is_available())
