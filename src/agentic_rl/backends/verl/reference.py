"""The page that shows the mapping, made from the table.

`python -m agentic_rl.backends.verl.reference > docs/reference/verl-mapping.md` writes it; a test compares the two.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from agentic_rl.backends.verl.installation import SUPPORTED
from agentic_rl.backends.verl.mapping import ALWAYS, BY_DEVICE, TABLE, Entry, Fixed, Native, Setting
from agentic_rl.config.verl_native.installation import Installation

_INTRODUCTION = f"""# The mapping to verl

<!-- Made from the mapping by `python -m agentic_rl.backends.verl.reference`; do not edit. -->

What becomes of each key of the flat format with `train_backend: verl`, for verl {SUPPORTED["verl"].least}.
`agentic-rl render --config-path FILE` prints the whole configuration that verl reads, and with `--format overrides`
the command line that gives the same to plain verl.

*Read by* names the file of verl, below its package folder, and the expression in it that reads the value in the code
that really runs; a test looks for that expression in the installed verl. `+` marks keys that verl's code has and its
templates lack. Keys of `critic` are set with `adv_estimator: gae`."""

_ENGINES = {"any": "", "fsdp": " (FSDP)", "megatron": " (`ppo_megatron_trainer`)"}
_EXAMPLE = Path("/FOLDER")


def render() -> str:
    """The page in Markdown."""
    return "\n".join([_INTRODUCTION, *_keys(), *_adapter(), *_dead(), *_decided()])


def _keys() -> Iterator[str]:
    yield from _table("Keys that verl reads", ("Key", "verl's key", "Value", "Read by", "Note"), _native_rows())


def _native_rows() -> Iterator[tuple[str, ...]]:
    for entry in TABLE:
        for place, native in enumerate(entry.natives):
            first = place == 0
            yield (f"`{entry.key}`" if first else "", _name(native), *_told(native), entry.note if first else "")


def _name(native: Native) -> str:
    through = "".join(f", through it `{key}`" for key in native.through)
    return f"`{'+' * native.added}{native.key}`{_ENGINES[native.engine]}{through}"


def _told(native: Native) -> tuple[str, str]:
    return native.words or "the same", f"`{native.reader.file}`: `{native.reader.expression}`"


def _adapter() -> Iterator[str]:
    rows = [(f"`{entry.key}`", entry.note) for entry in _of_kind("adapter")]
    yield from _table("Keys that the adapter obeys itself", ("Key", "How"), rows)


def _dead() -> Iterator[str]:
    rows = [(f"`{entry.key}`", entry.note) for entry in _of_kind("dead")]
    yield from _table("Keys without effect on verl", ("Key", "Why"), rows)
    yield ""
    yield "A file that writes one of them gets the warning ARL200."


def _decided() -> Iterator[str]:
    columns = ("verl's key", "Value", "Why")
    yield from _table("What the adapter decides", columns, (_fixed(one, "gpu") for one in ALWAYS))
    for device, group in BY_DEVICE.items():
        title = f"What `device: {device}` needs in addition"
        yield from _table(title, columns, (_fixed(one, device) for one in group))


def _fixed(one: Fixed, device: str) -> tuple[str, str, str]:
    value: Any = one.value(_setting(device))
    shown = str(value).lower() if isinstance(value, bool) else value
    return f"`{'+' * one.added}{one.key}`", f"`{shown}`", one.reason


def _setting(device: str) -> Setting:
    """An example: one device, no flash-attention."""
    return Setting(device, 1, Installation(), _EXAMPLE)


def _of_kind(kind: str) -> list[Entry]:
    return [entry for entry in TABLE if entry.kind == kind]


def _table(title: str, columns: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    yield from ("", f"## {title}", "", _line(columns), "|---" * len(columns) + "|")
    yield from map(_line, rows)


def _line(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


if __name__ == "__main__":
    print(render())
