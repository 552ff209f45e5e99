"""What a checkpoint of the local backend holds, and going on from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from agentic_rl.backends.errors import CheckpointError
from agentic_rl.backends.local import random_states
from agentic_rl.backends.local.checkpoint_store import Checkpoint, resumable
from agentic_rl.backends.local.learner import Learner
from agentic_rl.backends.local.policy import PolicyError, load_policy
from agentic_rl.backends.local.progress import Progress

OPTIMIZER, EXTRA = "optimizer.pt", "extra.pt"
"""Beside them lie model, configuration and tokenizer as transformers writes and reads them."""
ONE_FILE = "1TB"
"""As transformers' shard size: the model stays one safetensors file."""


@dataclass(frozen=True)
class Learned:
    """What training changes."""

    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase
    learner: Learner

    def save(self, folder: Path, content: list[str], progress: Progress, states: Mapping[str, Any]) -> None:
        """Write the items of `content` (those of `ckpt_content`) into `folder`.

        Configuration, tokenizer and progress are always there. `model` and `hf_model` are one file here: the
        weights as transformers reads them.

        Raises:
            OSError: the disk is full or failing.
        """
        try:
            self._save(folder, content, progress, states)
        except (SafetensorError, RuntimeError) as error:  # how safetensors and torch report a full disk
            raise OSError(f"{type(error).__name__}: {error}") from error

    def _save(self, folder: Path, content: list[str], progress: Progress, states: Mapping[str, Any]) -> None:
        if {"model", "hf_model"} & set(content):
            self.model.save_pretrained(folder, max_shard_size=ONE_FILE)
        else:
            self.model.config.save_pretrained(folder)
        self.tokenizer.save_pretrained(folder)
        learner = self.learner.state_dict()
        optimizer = learner.pop("optimizer")
        if "optimizer" in content:
            torch.save(optimizer, folder / OPTIMIZER)
        if "extra" in content:
            torch.save({"learner": learner, "random": dict(states)}, folder / EXTRA)
        progress.write(folder)

    def load(self, checkpoint: Checkpoint) -> None:
        """Go on from `checkpoint`: weights, optimizer, learner and random states.

        Raises:
            CheckpointError: it lacks something, or is one of another model.
        """
        refuse_incomplete(checkpoint)
        load_weights(self.model, checkpoint.path)
        extra = torch.load(checkpoint.path / EXTRA, map_location="cpu", weights_only=True)
        optimizer = torch.load(checkpoint.path / OPTIMIZER, map_location="cpu", weights_only=True)
        self.learner.load_state_dict({**extra["learner"], "optimizer": optimizer})
        random_states.restore(extra["random"])


def load_weights(model: PreTrainedModel, folder: Path) -> None:
    """Copy the weights of the checkpoint in `folder` into `model`.

    Raises:
        CheckpointError: they are those of another model.
    """
    try:
        saved, _ = load_policy(folder, model.device)
    except PolicyError as error:
        raise CheckpointError(f"{folder} can't be loaded: {error}", START_AFRESH) from error
    there, wanted = _shapes(saved), _shapes(model)
    if there != wanted:
        name = next(name for name in [*wanted, *there] if there.get(name) != wanted.get(name))
        raise CheckpointError(
            f"{folder} is a checkpoint of another model than tokenizer_name_or_path: "
            f"{name} has the shape {there.get(name, 'absent')} there and {wanted.get(name, 'absent')} here",
            START_AFRESH,
        )
    model.load_state_dict(saved.state_dict())


START_AFRESH = "take the model that the run began with, or change project_name or experiment_name to start afresh"


def refuse_incomplete(checkpoint: Checkpoint) -> None:
    """Raise where a run can't go on from `checkpoint`.

    Raises:
        CheckpointError: it was written with less than `ckpt_content` needs for that.
    """
    content = checkpoint.manifest.content
    if not resumable(content):
        raise CheckpointError(
            f"{checkpoint.path} holds only {', '.join(content)}; going on needs model, optimizer and extra",
            "set ckpt_content: [model, optimizer, extra], and change project_name or experiment_name to start afresh",
        )


def _shapes(model: PreTrainedModel) -> dict[str, tuple[int, ...]]:
    return {name: tuple(tensor.shape) for name, tensor in model.state_dict().items()}
