"""Chat templates that behave as those of models in the field, each with a tokenizer that has its special tokens."""

from __future__ import annotations

from pathlib import Path

from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

FOLDER = Path(__file__).parent / "data" / "chat_templates"
CHATML = ("<|im_start|>", "<|im_end|>", "<|endoftext|>")
LLAMA = ("<|begin_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>", "<|eom_id|>", "<|python_tag|>")
END_OF_TURN = {
    "qwen2.5": "<|im_end|>",
    "qwen3": "<|im_end|>",
    "llama3": "<|eot_id|>",
    "smollm2": "<|im_end|>",
    "plain": "<|endoftext|>",
    "qwen3-coder": "<|im_end|>",
    "llama3.2-pythonic": "<|eot_id|>",
}
CALL_FORMATS = {
    **dict.fromkeys(END_OF_TURN, "hermes"),
    "llama3": "llama3_json",
    "qwen3-coder": "qwen3_coder",
    "llama3.2-pythonic": "pythonic",
}


def model_tokenizer(name: str) -> PreTrainedTokenizerFast:
    """Byte-level BPE without merges, with the special tokens and the template of a family of models."""
    llama = name.startswith("llama")
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    bpe = Tokenizer(models.BPE({piece: number for number, piece in enumerate(alphabet)}, []))
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.decoder = decoders.ByteLevel()
    bpe.add_special_tokens([AddedToken(token, special=True) for token in (LLAMA if llama else CHATML)])
    if name.startswith("qwen3"):  # added, but not special, as there
        words = ("<think>", "</think>", "<tool_call>", "</tool_call>")
        bpe.add_tokens([AddedToken(word, special=False, normalized=False) for word in words])
    return PreTrainedTokenizerFast(
        tokenizer_object=bpe,
        eos_token=END_OF_TURN[name],
        bos_token=LLAMA[0] if llama else None,
        chat_template=(FOLDER / f"{name}.jinja").read_text("utf-8"),
    )
