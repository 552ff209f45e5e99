"""A tiny Qwen3 model with random weights and its tokenizer, in the files that transformers loads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from agentic_rl.projects.folder import ProjectError
from agentic_rl.projects.quickstart.problems import every_text
from agentic_rl.projects.quickstart.tokenizer import build_tokenizer

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast, Qwen3Config

MAX_LENGTH = 512
INITIAL_STD = 0.1
"""Of the random weights. The usual 0.02 suits wide models: at width 64 the warm-up would take several times as long
to find out how to copy a number."""


def write_model(folder: Path, seed: int) -> None:
    """Write the quickstart's model (136 thousand parameters) and tokenizer into `folder`.

    Raises:
        ProjectError: torch or transformers is not installed.
    """
    write_tiny_model(folder, every_text(), seed)


def write_tiny_model(folder: Path, texts: Iterable[str], seed: int, max_length: int = MAX_LENGTH) -> None:
    """Write a random model of about a hundred thousand parameters (safetensors, fp32), and a tokenizer for `texts`.

    Args:
        folder: where the files go.
        texts: the tokenizer knows their words.
        seed: of the weights.
        max_length: tokens that the model can read.

    Raises:
        ProjectError: torch or transformers is not installed.
    """
    try:
        import torch
        from transformers import Qwen3ForCausalLM
    except ImportError as error:
        raise ProjectError(
            f"the quickstart makes a model with torch and transformers, and {error.name} is not installed; "
            "run: pip install 'agentic-rl[local]'"
        ) from error

    tokenizer = build_tokenizer(texts)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = Qwen3ForCausalLM(_config(tokenizer, max_length))
    with _quiet():
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)


@contextmanager
def _quiet() -> Iterator[None]:
    """No progress bar for half a megabyte."""
    from transformers.utils import logging

    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()


def _config(tokenizer: PreTrainedTokenizerFast, max_length: int) -> Qwen3Config:
    from transformers import Qwen3Config

    return Qwen3Config(
        vocab_size=len(tokenizer),
        hidden_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=4,
        head_dim=16,
        intermediate_size=192,
        max_position_embeddings=max_length,
        initializer_range=INITIAL_STD,
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        dtype="float32",
    )
