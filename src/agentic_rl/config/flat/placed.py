"""The known keys of a tree, each at its real place."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from agentic_rl.config.flat.names import SECTIONS, dotted, homes


@dataclass
class Placed:
    """Values as written, under the real names of their keys."""

    levels: dict[str, dict[str, Any]] = field(default_factory=lambda: {"": {}})
    """Level -> key -> value; a section is there when the tree has it as a mapping."""
    empty: list[str] = field(default_factory=list)
    """Sections that are written with nothing below them."""
    reported: set[str] = field(default_factory=set)
    """Sections that are no mapping; nothing more needs to be said about them."""
    written_as: dict[str, str] = field(default_factory=dict)
    """Real dotted key -> the dotted key under which it was written, where the two differ."""

    @property
    def written(self) -> list[str]:
        """The real dotted key of every value."""
        return [dotted(level, name) for level, keys in self.levels.items() for name in keys]

    @property
    def backend(self) -> str | None:
        """The chosen backend, if the value names one."""
        value = self.levels[""].get("train_backend")
        return value if isinstance(value, str) and value in SECTIONS else None

    def value(self, key: str) -> Any:
        """The value of a real dotted key, None where it is not written."""
        level, _, name = key.rpartition(".")
        return self.levels.get(level, {}).get(name)

    def home(self, level: str, name: str) -> str | None:
        """The level where a key written at the wrong one belongs, if only one place can be meant."""
        candidates = homes(name)
        if level:
            return "" if "" in candidates else None
        if self.backend in candidates:
            return self.backend
        there = [section for section in candidates if section in self.levels or section in self.empty]
        best = there or candidates
        return best[0] if len(best) == 1 else None

    def adopt(self, real: str, written: str, value: Any) -> bool:
        """Take a value over under its real key; False where that key is written too."""
        section, _, name = real.rpartition(".")
        level = self.levels.setdefault(section, {})
        if name in level:
            return False
        level[name] = value
        self.written_as[real] = written
        return True
