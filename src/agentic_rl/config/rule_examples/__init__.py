"""A bad and a good example of each rule, for `agentic-rl explain` and the rules' pages. A test checks every one.

The examples of the codes ARL210 to ARL219 are in `21x.yaml`, and so on. An example shows the keys that matter; where
`whole` is not set, what a configuration needs besides is left out. An example may list files below `HOME`, in the form
that `listing.py` tells, and may be a command in place of a text; the configurations among such files are `run.yaml`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

import yaml

from agentic_rl.config.rule_examples.listing import HOME, Entry, listed

__all__ = ["HOME", "Entry", "Example", "described", "example_of"]


@dataclass(frozen=True)
class Example:
    """Two texts that differ in what a rule is about."""

    bad: str
    """A file, or a part of one, or a command, on which the rule has a finding."""
    good: str
    """The neighbour on which it has none."""
    whole: bool = False
    """Whether the texts are whole files."""
    command: bool = False
    """Whether the texts are commands, given in `HOME`, where the files are."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """What the files of the configuration, or the machine, say: by names that begin with `@`."""
    files: Mapping[str, Entry] = field(default_factory=dict)
    """What is on the disk, by path below `HOME`; a folder's ends in `/`."""
    bad_files: Mapping[str, Entry] = field(default_factory=dict)
    """What besides is there with the bad text."""
    good_files: Mapping[str, Entry] = field(default_factory=dict)
    """What besides is there with the good text."""

    @property
    def on_disk(self) -> bool:
        """Whether the example is about files."""
        return bool(self.files or self.bad_files or self.good_files)


def example_of(code: str) -> Example | None:
    """The example of a code, None where it has none yet."""
    entry = _family(code[3:5]).get(code)
    return Example(**entry) if entry else None


def described(example: Example) -> dict[str, str]:
    """The two texts under their headings, with what was read elsewhere and the files as comments."""
    given = "".join(
        f"# {name.removeprefix('@').replace('.', ': ')} is {value}\n" for name, value in example.facts.items()
    )
    sides = {"Bad": (example.bad, example.bad_files), "Good": (example.good, example.good_files)}
    return {
        heading: f"{given}{listed({**example.files, **files})}{text.rstrip()}"
        for heading, (text, files) in sides.items()
    }


@cache
def _family(digits: str) -> dict[str, Any]:
    entry = files(__package__).joinpath(f"{digits}x.yaml")
    return yaml.safe_load(entry.read_text(encoding="utf-8")) if entry.is_file() else {}
