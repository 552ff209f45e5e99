"""The policy: a transformers model and its tokenizer from a folder on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import torch
from torch import nn
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer, PreTrainedModel, PreTrainedTokenizerBase

Device = Literal["auto", "npu", "gpu", "cpu"]


class PolicyError(ValueError):
    """The model folder can't be used for training; the message says why and what to do."""


def resolve_device(name: Device) -> torch.device:
    """The torch device for a configured one; `auto` takes an NPU, else a GPU, else the CPU.

    Raises:
        PolicyError: the named device is not there.
    """
    available = {"npu": _npu_available(), "gpu": torch.cuda.is_available(), "cpu": True}
    if name == "auto":
        name = "npu" if available["npu"] else "gpu" if available["gpu"] else "cpu"
    if not available[name]:
        found = ", ".join(kind for kind, there in available.items() if there)
        raise PolicyError(f"device: {name} is not available on this machine (found: {found}); use one of these or auto")
    return torch.device({"npu": "npu", "gpu": "cuda", "cpu": "cpu"}[name])


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
    try:
        config = AutoConfig.from_pretrained(folder, local_files_only=True, trust_remote_code=trust_remote_code)
        model = AutoModelForCausalLM.from_pretrained(
            folder,
            config=config,
            dtype=torch.float32,
            local_files_only=True,
            trust_remote_code=trust_remote_code,
        )
    except (OSError, ValueError, KeyError, RuntimeError) as error:
        raise PolicyError(f"tokenizer_name_or_path: the model in {folder} can't be loaded: {error}") from error
    if model.get_output_embeddings() is None:
        raise PolicyError(f"tokenizer_name_or_path: the model in {folder} has no language-model head")
    nn.Module.to(model, device)
    return model.eval(), tokenizer


def _load_tokenizer(folder: Path, trust_remote_code: bool) -> PreTrainedTokenizerBase:
    try:
        tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=trust_remote_code)
    except (OSError, ValueError, KeyError) as error:
        raise PolicyError(
            f"tokenizer_name_or_path: no tokenizer can be loaded from {folder} ({error}); "
            "put the model's tokenizer.json and tokenizer_config.json there"
        ) from error
    if not tokenizer.chat_template:
        raise PolicyError(
            f"tokenizer_name_or_path: the tokenizer in {folder} has no chat template, so messages can't become "
            "tokens; use an instruct model or put a chat_template.jinja there"
        )
    return tokenizer


def _npu_available() -> bool:
    npu = getattr(torch, "npu", None)
    return npu is not None and bool(npu.is_available())
