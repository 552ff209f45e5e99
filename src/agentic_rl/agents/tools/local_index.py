"""Search in a file of documents by BM25, in this process: no server is needed."""

from __future__ import annotations

import contextlib
import json
import logging
import re
import shutil
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

from agentic_rl.agents.threads import run_in_thread
from agentic_rl.agents.tools.documents import LINES, PARQUET, Documents, scan, write_lines
from agentic_rl.agents.tools.passages import Passage, SearchError

_LOGGER = logging.getLogger(__name__)

_FORMAT = 1
"""Of the folder beside the documents; a number for each change of it."""
_IDEOGRAPHS = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_WORD = re.compile(rf"[{_IDEOGRAPHS}]|[^\W_{_IDEOGRAPHS}]+")
"""A word; in Chinese and Japanese, which have no spaces between words, a character."""


class LocalIndex:
    """An index of the documents of a file.

    It is kept beside them in `FILE.bm25`, and made again when the file has changed. Where that folder can't be
    written, the index is made in each process anew.

    Args:
        path: JSON lines or parquet; each document has `contents` (a line with the title, then the text), or `text`
            and maybe `title`.
        topk: how many passages a search gives.

    Raises:
        SearchError: a line is no document, or there is none.
        FileNotFoundError: there is no such file.
        ImportError: bm25s is not installed.
    """

    def __init__(self, path: str | Path, topk: int = 3) -> None:
        if topk < 1:
            raise ValueError(f"topk: {topk}; a search gives at least 1 passage")
        self._topk = topk
        self._library = _library()
        self._bm25, self._documents = self._opened(Path(path).absolute())

    def __len__(self) -> int:
        return len(self._documents)

    async def search(self, query: str) -> list[Passage]:
        """Return the passages that share the rarest words with the query, the best one first."""
        return await run_in_thread(partial(self.find, query), "search")

    def find(self, query: str) -> list[Passage]:
        """Do what `search` does, in the calling thread."""
        known = [word for word in words(query) if word in self._bm25.vocab_dict]
        if not known:
            return []
        numbers, scores = self._bm25.retrieve([known], k=min(self._topk, len(self)), show_progress=False, n_threads=0)
        found = zip(numbers[0].tolist(), scores[0].tolist(), strict=True)
        return [self._documents.read(number, score) for number, score in found if score > 0]

    def _opened(self, path: Path) -> tuple[Any, Documents]:
        if path.suffix not in (*LINES, PARQUET):
            raise SearchError(f"{path}: documents are read from {', '.join(LINES)} or {PARQUET}")
        folder = path.with_name(f"{path.name}.bm25")
        wanted = self._description(path)
        if _description_in(folder) == wanted:
            with contextlib.suppress(OSError, ValueError, KeyError):  # a damaged one is made again
                return self._loaded(path, folder)
        try:
            made = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=path.parent))
        except OSError as error:
            _LOGGER.warning("%s: %s; the index is not kept", folder, error.strerror)
            with tempfile.TemporaryDirectory() as passing:
                self._make(path, Path(passing), wanted)
                return self._loaded(path, Path(passing))  # open files outlive their names
        try:
            self._make(path, made, wanted)
            _put(made, folder)
            return self._loaded(path, folder)
        finally:
            shutil.rmtree(made, ignore_errors=True)

    def _description(self, path: Path) -> dict[str, Any]:
        state = path.stat()
        version = self._library.__version__
        return {"format": _FORMAT, "bm25s": version, "bytes": state.st_size, "changed_ns": state.st_mtime_ns}

    def _make(self, path: Path, folder: Path, description: dict[str, Any]) -> None:
        import numpy

        lines = path
        if path.suffix == PARQUET:
            lines = _lines_in(folder)
            write_lines(path, lines)
        numbers: dict[str, int] = {}
        places: list[tuple[int, int]] = []
        rows: list[list[int]] = []
        for start, size, document in scan(lines):
            places.append((start, size))
            text = f"{document.title} {document.text}"
            rows.append([numbers.setdefault(word, len(numbers)) for word in words(text)])
        if not numbers:
            raise SearchError(f"{path} has no document with a word in it")
        bm25 = self._library.BM25()
        bm25.index(self._library.tokenization.Tokenized(ids=rows, vocab=numbers), show_progress=False)
        bm25.save(str(folder), show_progress=False)
        numpy.save(folder / "places.npy", numpy.array(places, dtype=numpy.int64))
        (folder / "index.json").write_text(json.dumps(description), encoding="utf-8")

    def _loaded(self, path: Path, folder: Path) -> tuple[Any, Documents]:
        import numpy

        bm25 = self._library.BM25.load(str(folder), mmap=True, show_progress=False)
        places = numpy.load(folder / "places.npy", mmap_mode="r")
        return bm25, Documents(_lines_in(folder) if path.suffix == PARQUET else path, places)


def words(text: str) -> list[str]:
    """Split a text into the words that are searched for."""
    return _WORD.findall(text.lower())


def _library() -> Any:
    try:
        import bm25s
    except ImportError as error:
        raise ImportError("a local index is made with bm25s; install it: pip install 'agentic-rl[tools]'") from error
    return bm25s


def _description_in(folder: Path) -> object:
    try:
        return json.loads((folder / "index.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def _lines_in(folder: Path) -> Path:
    return folder / "documents.jsonl"


def _put(made: Path, folder: Path) -> None:
    """Move a new index to its place; where another process was quicker, its index is as good."""
    if folder.exists():
        old = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
        with contextlib.suppress(FileNotFoundError):
            folder.rename(old / "old")
        shutil.rmtree(old, ignore_errors=True)
    with contextlib.suppress(OSError):
        made.rename(folder)
