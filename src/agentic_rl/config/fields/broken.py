"""A value that its field refused, and what to write instead where that can be guessed."""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from agentic_rl.config.fields.shape import Shape
from agentic_rl.config.fields.wording import show, yaml_text

_SWITCHES = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
_GROUPS = re.compile(r"[1-9][0-9]{0,2}(,[0-9]{3}){1,4}")
_THOUSANDS = re.compile(r"([1-9][0-9]{0,5}) ?[kK]")


@dataclass(frozen=True)
class Broken:
    """A value that its field refused."""

    name: str
    """The key without its section."""
    value: Any
    shape: Shape
    error: str
    """Pydantic's type of the error."""
    default: Any
    """The documented default; None where there is none."""

    def written(self, value: Any) -> str:
        """How to write `value` for this key."""
        return f"{self.name}: {yaml_text(value)}"

    @property
    def remedy(self) -> str:
        """What to do where nothing in the value says what was meant."""
        if self.shape.optional:
            return f"leave {self.name} out, or write {self.shape.rule}"
        if self.default is None:
            return f"write {self.shape.rule}"
        return f"leave {self.name} out for its default, {yaml_text(self.default)}"

    @property
    def nearest(self) -> str:
        """The accepted value next to this one, which is of the right type."""
        value = self.value
        if self.error == "repeated_item":
            return self.written([item for index, item in enumerate(value) if item not in value[:index]])
        nearest = None if self.error == "finite_number" or not _is_number(value) else self.shape.nearest(value)
        return self.remedy if nearest is None else self.written(nearest)

    @property
    def nearest_choice(self) -> str:
        """The choice that this text is nearly."""
        text = self.value.strip().lower()
        for spelling in (text, text.replace("_", "-"), text.replace("-", "_")):
            near = get_close_matches(spelling, self.shape.choices, n=1, cutoff=0.6)
            if near:
                return self.written(near[0])
        return self.remedy

    @property
    def unquoted(self) -> bool | float | None:
        """The number or switch that this text spells, if one is wanted."""
        text = self.value.strip()
        if self.shape.kind == "bool":
            return _SWITCHES.get(text.lower())
        if self.shape.kind not in ("int", "float") or len(text) > 40:
            return None
        try:
            return int(text) if text.lstrip("+-").isdecimal() else float(text)
        except ValueError:
            return None

    @property
    def digits(self) -> str:
        """The whole number that a text such as `1,024` or `16k` spells."""
        text = self.value.strip()
        if self.shape.kind == "int" and _GROUPS.fullmatch(text):
            return self._whole(int(text.replace(",", "")))
        thousands = _THOUSANDS.fullmatch(text) if self.shape.kind == "int" else None
        if thousands is None or self.shape.refuses(int(thousands[1]) * 1024):
            return self.remedy
        return f"{self.written(int(thousands[1]) * 1024)}, or {int(thousands[1]) * 1000}"

    @property
    def converted(self) -> str:
        """What was most likely meant by a value of another type."""
        value, kind = self.value, self.shape.kind
        if isinstance(value, list):
            return self._without_brackets()
        if kind == "list":
            return self._with_brackets()
        if kind in ("text", "path", "choice"):
            return self._with_quotes()
        if kind == "int" and isinstance(value, float) and abs(value) < 1e15:
            return self._whole(value)
        if kind == "bool" and value in (0, 1):
            return self.written(bool(value))
        return self.remedy

    def _without_brackets(self) -> str:
        one = len(self.value) == 1 and not isinstance(self.value[0], (list, dict))
        return f"without brackets: {self.written(self.value[0])}" if one else "write one value, not a list"

    def _with_brackets(self) -> str:
        items = [item.strip() for item in self.value[:200].split(",")] if isinstance(self.value, str) else []
        return f"as a list: {self.written(items)}" if all(items) and items else self.remedy

    def _with_quotes(self) -> str:
        if isinstance(self.value, bool):
            return "yes, no, on, off, true and false are switches to YAML; put quotes around text"
        return (
            self.remedy
            if isinstance(self.value, (dict, bytes, set))
            else f'if text is meant: {self.name}: "{show(self.value)}"'
        )

    def _whole(self, value: float) -> str:
        whole = round(value)
        nearest = self.shape.nearest(whole) if self.shape.refuses(whole) else None
        return self.written(whole if nearest is None else nearest)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
