"""The files of an example, for people to read. The tests make the same files and check what is found.

An entry is the text of a file, null for a file that is not there, or a mapping: `text` (with its `encoding`), `link`
(its target), `model` (a whole model folder, with changes to its `config.json`), `tasks` (parquet, how many rows in
verl's layout; `changed` gives columns other values) or `rows` (those of any parquet file), and `mode` where it is not
640, or 750 for a folder. Later entries change what earlier ones made.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

HOME = "/home/me"
"""The folder that stands for the reader's own; the tests put one of theirs in its place."""
Entry = str | None | Mapping[str, Any]


def listed(files: Mapping[str, Entry]) -> str:
    """The files as lines of comment, with their modes and what is in them; empty where there are none."""
    return "".join(f"{_lines(path, entry)}\n" for path, entry in files.items())


def _lines(path: str, entry: Entry) -> str:
    place = f"# {HOME}/{path}"
    if entry is None:
        return f"{place}: not there"
    spec = {"text": entry} if isinstance(entry, str) else entry
    if "link" in spec:
        return f"{place}: a link to {spec['link']}"
    mode = spec.get("mode", 750 if path.endswith("/") else 640)
    encoding = f", {spec['encoding']}" if "encoding" in spec else ""
    content = _content(spec)
    return f"{place} (mode {mode}{encoding})" + (f":{content}" if content else "")


def _content(spec: Mapping[str, Any]) -> str:
    """What is in a file, after a space where it stands in one line and on lines of its own where not."""
    if "text" in spec:
        lines = spec["text"].splitlines()
        return f" {lines[0]}" if len(lines) == 1 else _block(lines)
    if "model" in spec:
        return " a whole model" + _changes("config.json with ", spec["model"])
    if "tasks" in spec:
        return f" parquet, {spec['tasks']} tasks in verl's layout" + _changes("", spec.get("changed", {}))
    return " parquet, rows:" + _block(map(json.dumps, spec["rows"])) if "rows" in spec else ""


def _changes(where: str, changes: Mapping[str, Any]) -> str:
    return (
        f" ({where}{', '.join(f'{name}: {json.dumps(value)}' for name, value in changes.items())})" if changes else ""
    )


def _block(lines: Iterable[str]) -> str:
    return "".join(f"\n#     {line}".rstrip(" ") for line in lines)
