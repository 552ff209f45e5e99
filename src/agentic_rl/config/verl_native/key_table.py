"""Which keys verl has, with the types of their values: of the installed verl, or of the one whose keys are shipped."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from agentic_rl.config.verl_native.installation import verl_version

SHIPPED = "0.9.1"
"""The version of verl whose keys are shipped."""


@dataclass(frozen=True)
class KeyTable:
    """The keys of one version of verl, of all training engines."""

    version: str
    keys: Mapping[str, Any]
    """Sections as they are nested; of a value the name of its type: bool, int, float, str, list or any."""
    is_installed: bool
    """Whether verl of this version is installed here."""

    @property
    def name(self) -> str:
        """What a finding calls it."""
        return f"verl {self.version}" if self.is_installed else f"verl {self.version} (none is installed)"


@cache
def key_table() -> KeyTable:
    """The installed verl's keys; those of 0.9.1 where none is installed, or its templates can't be composed."""
    version = verl_version()
    if version is not None and version != SHIPPED:
        keys = _of_installed()
        if keys is not None:
            return KeyTable(version, keys, is_installed=True)
    shipped = json.loads(Path(__file__).with_name(f"verl-{SHIPPED}.json").read_text(encoding="utf-8"))
    return KeyTable(SHIPPED, shipped["keys"], is_installed=version == SHIPPED)


def _of_installed() -> dict[str, Any] | None:
    from agentic_rl.config.aura.composition.merging import RefusedError
    from agentic_rl.config.verl_native.installation import config_dir
    from agentic_rl.config.verl_native.make_key_table import table_of

    folder = config_dir()
    try:
        return table_of(folder) if folder is not None else None
    except (ImportError, RefusedError):
        return None
