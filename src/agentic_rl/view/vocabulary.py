"""The text of tokens, from a tokenizer's own file: nothing has to be installed for it."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

FILE = "tokenizer.json"
_BYTE = re.compile(r"<0x([0-9A-Fa-f]{2})>")


class Vocabulary:
    """Byte-level vocabularies (GPT-2, Llama 3, Qwen), and those with `▁` for a space (Llama 2, Gemma)."""

    def __init__(self, tokenizer: Mapping[str, Any]) -> None:
        model = tokenizer["model"]
        listed = model["vocab"]
        numbered = (
            listed.items() if isinstance(listed, Mapping) else ((entry[0], at) for at, entry in enumerate(listed))
        )
        self._texts: dict[int, str] = {int(number): str(text) for text, number in numbered}
        self._added = {int(one["id"]): str(one["content"]) for one in tokenizer.get("added_tokens") or ()}
        self._bytes = _byte_of_letter() if '"ByteLevel"' in json.dumps(tokenizer.get("decoder")) else {}

    def texts(self, ids: Sequence[int]) -> list[str]:
        r"""What each token adds to the text; a letter of several tokens is with the last of them.

        Bytes that are no text, and numbers that the vocabulary does not have, are `\ufffd`.
        """
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        texts = [decoder.decode(self._piece(number)) for number in ids]
        if texts:
            texts[-1] += decoder.decode(b"", final=True)
        return texts

    def _piece(self, number: int) -> bytes:
        if number in self._added:
            return self._added[number].encode("utf-8", "replace")
        text = self._texts.get(number, "\ufffd")
        if self._bytes:
            return b"".join(self._letter(letter) for letter in text)
        byte = _BYTE.fullmatch(text)
        return bytes([int(byte.group(1), 16)]) if byte else text.replace("\u2581", " ").encode("utf-8", "replace")

    def _letter(self, letter: str) -> bytes:
        byte = self._bytes.get(letter)
        return letter.encode("utf-8", "replace") if byte is None else bytes([byte])


def read_vocabulary(file: Path) -> Vocabulary | None:
    """The vocabulary in a `tokenizer.json`; None where it can't be read or has another form."""
    try:
        return Vocabulary(json.loads(file.read_bytes()))
    except (OSError, ValueError, TypeError, KeyError, AttributeError, IndexError, RecursionError):
        return None


def _byte_of_letter() -> dict[str, int]:
    """The byte for which each letter of a byte-level vocabulary stands.

    Printable bytes of Latin-1 stand for themselves; the others have the letters from U+0100 on, in their order.
    """
    printable = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = [byte for byte in range(256) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {chr(0x100 + place): byte for place, byte in enumerate(others)}
