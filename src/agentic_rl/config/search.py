"""Which YAML files of a folder are configurations."""

from __future__ import annotations

import os
import re
from collections.abc import Container, Iterator
from pathlib import Path

from agentic_rl.config.aura.inference import is_inference
from agentic_rl.config.formats import NAMES, detect
from agentic_rl.config.source import Document

MOST_ENTRIES = 100_000
"""Files and folders that a search looks at."""

_ENDINGS = (".yaml", ".yml")
_OWN = frozenset(("train_backend", "agent_engine_wrapper", "agent_engine_wrapper_path", "mindspeed_rl"))
_COMMON = frozenset(("agent_name", "tokenizer_name_or_path", "verl", "local"))
_KEY = re.compile(r"([A-Za-z_]\w*)\s*:(?:\s|$)")


class TooManyFilesError(Exception):
    """A folder holds more than a search looks at."""


def yaml_files(folder: str) -> Iterator[str]:
    """Every `*.yaml` and `*.yml` below `folder`, sorted folder by folder; nothing hidden, nothing through links.

    Raises:
        TooManyFilesError: more than `MOST_ENTRIES` files and folders.
    """
    for where, files in _folders(folder):
        for name in sorted(files):
            path = Path(where) / name
            if name.lower().endswith(_ENDINGS) and not name.startswith(".") and not path.is_symlink():
                yield str(path)


def folders_with(names: Container[str], folder: str) -> Iterator[str]:
    """The folders at and below `folder` that hold a file with one of the names; nothing hidden, nothing through links.

    Raises:
        TooManyFilesError: more than `MOST_ENTRIES` files and folders.
    """
    for where, files in _folders(folder):
        if any(name in names for name in files):
            yield where


def _folders(folder: str) -> Iterator[tuple[str, list[str]]]:
    """Each folder at and below `folder`, sorted, with the names of its files."""
    seen = 0
    for where, folders, files in os.walk(folder):
        seen += len(folders) + len(files)
        if seen > MOST_ENTRIES:
            raise TooManyFilesError(folder)
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield where, files


def why_not(document: Document) -> str:
    """Why a file is none that `check` reads; empty when it is one, also one too broken to be read whole."""
    keys = frozenset(document.tree) or frozenset(_written_keys(document.lines))
    found = detect(keys)
    if found == "rlinf":
        return f"{NAMES[found]}, which this version does not read yet"
    if found == "aura" or is_inference(keys) or keys & _OWN or len(keys & _COMMON) > 1:
        return ""
    return "no configuration: it has none of the keys by which one is known (train_backend, agent_name, ...)"


def _written_keys(lines: list[str]) -> Iterator[str]:
    """The names at the beginnings of lines, for a text that is no YAML."""
    return (found[1] for found in map(_KEY.match, lines) if found)
