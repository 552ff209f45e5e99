"""Whether a folder holds a tokenizer that can be read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentic_rl.config.artifacts.folder import Folder
from agentic_rl.config.artifacts.json_file import NotUsableError, bounded, parse_object, read_object, size_words
from agentic_rl.config.artifacts.pages import BAD_TOKENIZER, FOREIGN_TOKENIZER, NO_TOKENIZER, finding
from agentic_rl.config.diagnostics import Finding

FAST, CONFIG = "tokenizer.json", "tokenizer_config.json"
MAX_PARSED = 1 << 20
"""A larger `tokenizer.json` is looked at at both ends only: parsing ten megabytes takes longer than the whole check."""
MAX_CONFIG = 4 << 20
_OTHERS = ("tokenizer.model", "spiece.model", "sentencepiece.bpe.model", "vocab.txt", "tekken.json")
_AGAIN = "fetch the tokenizer's files again"
_END = 256


def check_tokenizer(folder: Folder, files: Mapping[str, int], key: str, vocabulary: int | None) -> list[Finding]:
    """What is wrong with the tokenizer; `vocabulary` is the model's `vocab_size` where it is known."""
    if FAST in files:
        try:
            last = _largest(folder, files[FAST])
        except (NotUsableError, OSError) as error:
            return [finding(BAD_TOKENIZER, key, f"{folder.path}/{FAST} {error}", _AGAIN)]
        if last is not None and vocabulary is not None and last >= vocabulary:
            message = f"{folder.path}/{FAST} has the token number {last}, but the model's vocab_size is {vocabulary}"
            return [finding(FOREIGN_TOKENIZER, key, message, "use the tokenizer that belongs to the model")]
        return []
    empty = [name for name in _slow(files) if files[name] == 0]
    if empty:
        return [finding(BAD_TOKENIZER, key, f"{folder.path}/{empty[0]} is empty", _AGAIN)]
    if _slow(files):
        return []
    message = f"{folder.path} has no tokenizer: neither {FAST} nor vocab.json with merges.txt nor tokenizer.model"
    return [finding(NO_TOKENIZER, key, message, "copy the tokenizer's files from the model that it was made from")]


def read_tokenizer_config(folder: Folder, files: Mapping[str, int], key: str) -> dict[str, Any] | Finding:
    """The object in `tokenizer_config.json`, empty where there is none."""
    if CONFIG not in files:
        return {}
    try:
        return read_object(folder, CONFIG, MAX_CONFIG)
    except NotUsableError as error:
        return finding(BAD_TOKENIZER, key, f"{folder.path}/{CONFIG} {error}", _AGAIN)


def _slow(files: Mapping[str, int]) -> list[str]:
    """The files of an older form that are enough for a tokenizer."""
    pair = [name for name in ("vocab.json", "merges.txt") if name in files]
    alone = [name for name in files if name in _OTHERS or name.endswith(".tiktoken")]
    return [*(pair if len(pair) == 2 else []), *alone]


def _largest(folder: Folder, size: int) -> int | None:
    """The largest number of a token in a small `tokenizer.json`; None for a large one, or where it can't be told.

    Raises:
        NotUsableError: it is no tokenizer.
    """
    with folder.open(FAST) as file:
        if size > MAX_PARSED:
            head = file.read(_END).lstrip()
            file.seek(size - _END)
            if not head.startswith(b"{") or not file.read(_END).rstrip().endswith(b"}"):
                raise NotUsableError(f"is no JSON object, or is cut off after {size_words(size)}")
            return None
        tree = parse_object(bounded(file, MAX_PARSED))
    model, added = tree.get("model"), tree.get("added_tokens")
    if not isinstance(model, dict):
        raise NotUsableError("has no model")
    words = model.get("vocab")
    numbers = list(words.values()) if isinstance(words, dict) else [len(words) - 1] if isinstance(words, list) else []
    if isinstance(added, list):
        numbers += [token.get("id") for token in added if isinstance(token, dict)]
    return max((number for number in numbers if type(number) is int), default=None)
