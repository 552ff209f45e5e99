"""Counting the tokens of long prompts with the model's own tokenizer, in bounded time.

Loading a tokenizer costs more than everything else that checking does. So it is done only where the bytes of a prompt
suggest that it could be too long: a large vocabulary covers text with three to five bytes a token, hardly ever with
less than two; a small one may need a token for every byte, and is loaded in no time.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from agentic_rl.config.artifacts.folder import Folder
from agentic_rl.config.artifacts.json_file import NotUsableError, bounded
from agentic_rl.config.artifacts.model import KEY
from agentic_rl.config.artifacts.result import Request
from agentic_rl.config.artifacts.task_rows import Rows

SECONDS = 2.0
MAX_TOKENIZER = 48 << 20
SMALL_TOKENIZER = 1 << 20
LEAST_KEPT, MOST_CHARACTERS = 1 << 15, 1 << 20
CHARACTERS_PER_TOKEN = 6
"""More characters than this for each token that is allowed are too many with any tokenizer in use."""


@dataclass(frozen=True)
class Overlong:
    """Prompts of one file that are longer than `max_prompt_length`; the chat template's own tokens are left out."""

    over: int
    longest: int
    """Tokens of the longest that was counted; 0 where it was not counted to its end."""
    seen: int
    """Rows looked at."""
    rows: int | None
    """Rows of the file; None where they were not counted."""
    complete: bool
    """Every row was looked at and every long prompt counted; otherwise `over` is the least it can be."""
    estimated: bool = False
    """By characters: there is no tokenizer to count with."""


class PromptCounter:
    """Counts with the tokenizer of the model's folder, loaded when the first prompt needs it."""

    def __init__(self, request: Request) -> None:
        self._folder = request.checked.get(KEY)
        limit = request.values.get("max_prompt_length")
        self._limit = limit if isinstance(limit, int) else 0
        self._left = SECONDS
        self._tokenizer: Any = None
        small = self._size() < SMALL_TOKENIZER
        self.suspicious = self._limit * (1 if small else 2) if self._limit else MOST_CHARACTERS << 10
        """A prompt of more bytes than this could be too long."""
        self.keep = min(MOST_CHARACTERS, max(LEAST_KEPT, 8 * self._limit))
        """Characters of a prompt that are enough to see that it is too long."""

    def count(self, rows: Rows, total: int | None) -> Overlong | None:
        """How many of the long prompts in `rows` are too long; None where none is."""
        if not rows.texts:
            return None
        started = time.monotonic()
        self._tokenizer = self._tokenizer or self._load()
        counts = self._counts(rows.texts, started)
        self._left -= time.monotonic() - started
        over = [(tokens, whole) for tokens, whole in counts if tokens > self._limit]
        if not over:
            return None
        complete = rows.seen == total and len(counts) == rows.long
        longest = max(tokens for tokens, _ in over) if all(whole for _, whole in over) else 0
        estimated = self._tokenizer is None
        return Overlong(len(over), 0 if estimated else longest, rows.seen, total, complete and not estimated, estimated)

    def _counts(self, texts: list[str], started: float) -> list[tuple[int, bool]]:
        """Tokens of each text until time is up, and whether it was the whole prompt."""
        if self._tokenizer is None:
            return [(len(text) // CHARACTERS_PER_TOKEN, len(text) < self.keep) for text in texts]
        counts = []
        for text in texts:
            if time.monotonic() - started > self._left:
                break
            tokens = len(self._tokenizer.encode(text, add_special_tokens=False))
            counts.append((tokens, len(text) < self.keep))
        return counts

    def _size(self) -> int:
        """Bytes of the tokenizer's file; as of a large one where there is none."""
        if self._folder is None or self._folder.kind != "folder":
            return SMALL_TOKENIZER
        try:
            with Folder.opened(self._folder) as folder:
                return folder.files().get("tokenizer.json", SMALL_TOKENIZER)
        except OSError:
            return SMALL_TOKENIZER

    def _load(self) -> Any:
        """The tokenizer; None without the package, without the file, or where the file is none."""
        if self._folder is None or self._folder.kind != "folder":
            return None
        try:
            from tokenizers import Tokenizer

            with Folder.opened(self._folder) as folder, folder.open("tokenizer.json") as file:
                data = bounded(file, MAX_TOKENIZER)
            tokenizer = Tokenizer.from_str(data.decode())
            tokenizer.no_truncation()
            return tokenizer
        except (KeyboardInterrupt, SystemExit):
            raise
        except (ImportError, OSError, NotUsableError):
            return None
        except BaseException:  # the package raises bare exceptions, and its panics are no Exception
            return None
