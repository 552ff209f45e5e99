"""Paths in the files of a project."""

from __future__ import annotations

import json
from pathlib import Path


def quoted(path: Path) -> str:
    """A path as YAML and shells read it: JSON's strings are YAML's, too."""
    text = str(path)
    plain = all(character.isalnum() or character in "/._-" for character in text)
    return text if plain else json.dumps(text, ensure_ascii=False)
