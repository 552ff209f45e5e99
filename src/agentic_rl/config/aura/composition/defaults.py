"""The items of `defaults`, and the folders in which their templates are looked for."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from agentic_rl.config.aura.composition.reference_text import BadReferenceError

SELF = "_self_"
_WORDS = ("optional ", "override ")


@dataclass(frozen=True)
class Item:
    """One template that `defaults` names."""

    index: int
    written: Any
    """As Hydra reads it."""
    template: str
    """Below a folder of the search path, without `.yaml`."""
    package: str
    """Dotted key of the section that it fills; empty for the top."""
    group: str = ""
    """The folder of its alternatives, where the item is `GROUP: NAME`."""
    needed: bool = True
    """False for those that may be missing, or that change an item of another template."""

    @property
    def key(self) -> str:
        """Its dotted key."""
        return f"defaults[{self.index}]"

    @property
    def name(self) -> str:
        """What findings call it."""
        return self.template.rpartition("/")[2] if not self.group else self.template


def items_of(defaults: Sequence[Any]) -> Iterator[Item]:
    """The items that name a template; without `_self_` and what is turned off by null.

    Raises:
        BadReferenceError: an item has another form.
    """
    for index, written in enumerate(defaults):
        if written == SELF or (isinstance(written, Mapping) and all(one in (None, False) for one in written.values())):
            continue
        if isinstance(written, str) and written:
            path, _, package = written.partition("@")
            template = path.strip("/")
            yield Item(index, written, template, _package(package, template.rpartition("/")[0]))
        elif isinstance(written, Mapping) and len(written) == 1:
            yield from _of_group(index, *next(iter(written.items())), written)
        else:
            hint = "- NAME, - NAME@SECTION, - GROUP: NAME or - _self_"
            raise BadReferenceError(f"item {index}, {str(written)[:60]!r}, names no template", hint)


def folders_of(searchpath: Sequence[str], beside: Path) -> tuple[list[Path], list[str]]:
    """Those folders of `hydra.searchpath` that are there, and the entries that name none."""
    found: list[Path] = []
    missing: list[str] = []
    for entry in searchpath:
        folder = next((one for one in _meant(entry, beside) if is_folder(one)), None)
        if folder is None:
            missing.append(entry)
        else:
            found.append(Path(os.path.abspath(folder)))  # noqa: PTH100 - links stay
    return found, missing


def holds(folder: Path, template: str) -> bool:
    """Whether a folder has a template."""
    try:
        return (folder / f"{template}.yaml").is_file()
    except (OSError, ValueError):  # a name that no file can have
        return False


def templates_in(folder: Path) -> list[str]:
    """The names of the templates in a folder."""
    try:
        return sorted(one.stem for one in folder.iterdir() if one.suffix == ".yaml")
    except (OSError, ValueError):
        return []


def is_folder(path: Path) -> bool:
    """Whether a folder is there; false for names that no folder can have."""
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False


def _of_group(index: int, group: Any, option: Any, written: Any) -> Iterator[Item]:
    group = str(group)
    needed = not group.startswith(_WORDS)
    path, _, package = group.split(" ")[-1].partition("@")
    path = path.strip("/")
    options = option if isinstance(option, list) else [option]
    for one in options:
        yield Item(index, written, f"{path}/{one}", _package(package, path), path, needed)


def _package(written: str, folder: str) -> str:
    """The dotted section that a template fills: what stands after the @, else the folders that it lies in."""
    if written:
        return "" if written in ("_global_", "_here_") else written.removeprefix("_global_.").removeprefix("_here_.")
    return folder.replace("/", ".")


def _meant(entry: str, beside: Path) -> Iterator[Path]:
    """The folders that an entry may mean: relative ones are below the current folder, or beside the file."""
    scheme, _, rest = entry.rpartition("://")
    if scheme == "pkg":
        yield from _of_package(rest)
    elif scheme in ("", "file"):
        path = unquote(rest) if "%" in rest else rest
        yield Path(path)
        yield beside / path


def _of_package(name: str) -> Iterator[Path]:
    """The folder of a package, `verl.trainer.config` or `verl/trainer/config`; only its first part is looked up."""
    first, *rest = name.replace("/", ".").split(".")
    try:
        spec = find_spec(first) if first else None
    except (ImportError, ValueError):
        return
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        yield Path(folder, *rest)
