"""What two configurations do differently: their effective values, defaults resolved."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, Literal

from agentic_rl.config.fields.wording import yaml_text
from agentic_rl.config.load import FilePath, Loaded, load
from agentic_rl.config.reporting.printable import one_line

Source = Literal["file", "default", "not valid", "absent"]
_WORDS: dict[Source, str] = {"default": "the default", "not valid": "not valid"}


@dataclass(frozen=True)
class Effective:
    """The value of one key in one file."""

    value: Any
    source: Source
    """`not valid`: written, but not a value that the key may have; `absent`: its section is not there."""
    line: int | None = None

    def to_text(self) -> str:
        """The value as YAML and where it is from."""
        if self.source == "absent":
            return "(absent)"
        where = [_WORDS.get(self.source, ""), f"line {self.line}" if self.line else ""]
        return f"{one_line(yaml_text(self.value))} ({', '.join(filter(None, where))})"


@dataclass(frozen=True)
class Difference:
    """A key whose values differ."""

    key: str
    first: Effective
    second: Effective


@dataclass(frozen=True)
class Comparison:
    """Two configurations side by side."""

    first: Loaded
    second: Loaded
    differences: tuple[Difference, ...]
    """In the order of the documentation."""

    @property
    def unread(self) -> list[Loaded]:
        """The configurations that could not be read, so that nothing can be compared."""
        return [loaded for loaded in (self.first, self.second) if not loaded.values]

    def to_text(self) -> str:
        """The differences, two lines a key, below the names of the files."""
        lines = [f"--- {_told(self.first)}", f"+++ {_told(self.second)}"]
        for one in self.differences:
            lines += [one.key, f"  - {one.first.to_text()}", f"  + {one.second.to_text()}"]
        count = len(self.differences)
        return "\n".join([*lines, f"{count or 'no'} key{'' if count == 1 else 's'} differ{'s' if count == 1 else ''}"])

    def to_dict(self) -> dict[str, Any]:
        """The JSON form: `equal`, the names of the `files`, and the `differences` with both values of each key."""
        return {
            "equal": not self.differences,
            "files": [self.first.document.file, self.second.document.file],
            "differences": [asdict(one) for one in self.differences],
        }


def compare(first: FilePath, second: FilePath) -> Comparison:
    """Compare what two files say. Neither the environment nor the files that they name are looked at."""
    one, other = (load(path, files=False, environ={}) for path in (first, second))
    return Comparison(one, other, tuple(_differences(one, other)))


def _differences(first: Loaded, second: Loaded) -> Iterator[Difference]:
    keys = [*first.values, *first.placed.written, *second.values, *second.placed.written]
    for key in dict.fromkeys(keys):
        one, other = _effective(first, key), _effective(second, key)
        if (type(one.value), one.value, one.source == "absent") != (
            type(other.value),
            other.value,
            other.source == "absent",
        ):
            yield Difference(key, one, other)


def _effective(loaded: Loaded, key: str) -> Effective:
    written = key in loaded.placed.written
    place = loaded.document.places.get(loaded.placed.written_as.get(key, key)) if written else None
    line = place.line if place else None
    if key in loaded.values:
        return Effective(loaded.values[key], "file" if written else "default", line)
    return Effective(loaded.placed.value(key), "not valid", line) if written else Effective(None, "absent")


def _told(loaded: Loaded) -> str:
    errors = sum(finding.severity == "error" for finding in loaded.report)
    name = one_line(loaded.document.file)
    return f"{name} (`agentic-rl check` finds {errors} error{'s' if errors > 1 else ''})" if errors else name
