"""The reference page of the flat format, made from the schema.

`python -m agentic_rl.config.flat.reference > docs/reference/flat.md` writes it; a test compares the two.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from agentic_rl.config.fields.documentation import field_docs
from agentic_rl.config.fields.level import Level
from agentic_rl.config.fields.shape import Shape, shape_of
from agentic_rl.config.fields.wording import yaml_text
from agentic_rl.config.flat.dead_keys import DEAD, acts_on
from agentic_rl.config.flat.extensions import OwnKeys, UndocumentedKeys
from agentic_rl.config.flat.inference import InferenceKeys
from agentic_rl.config.flat.learning import LearningKeys
from agentic_rl.config.flat.local import LocalSection
from agentic_rl.config.flat.mindspeed_rl import MindSpeedKeys, UndocumentedMindSpeedKeys
from agentic_rl.config.flat.names import ALIASES, dotted, field_of, model_of
from agentic_rl.config.flat.run import RunKeys
from agentic_rl.config.flat.verl import VerlSection
from agentic_rl.config.types import Kind

Origin = Literal["documented", "ours", "undocumented"]


@dataclass(frozen=True)
class Row:
    """One key of the format."""

    section: str
    """Empty for the shared level."""
    key: str
    type: str
    default: str
    """As YAML writes it, or `required`."""
    constraint: str
    acts_on: tuple[str, ...]
    """Backends with which the key has an effect."""
    description: str


@dataclass(frozen=True)
class Group:
    """Keys that the page shows together."""

    title: str
    section: str
    origin: Origin
    model: type[Level]

    @property
    def rows(self) -> Iterator[Row]:
        """The keys, in the order of the schema."""
        return (row(self.section, name) for name in self.model.model_fields)


GROUPS = (
    Group("Run", "", "documented", RunKeys),
    Group("Inference and sampling", "", "documented", InferenceKeys),
    Group("Learning", "", "documented", LearningKeys),
    Group("Our own shared keys", "", "ours", OwnKeys),
    Group("Section `verl`", "verl", "documented", VerlSection),
    Group("Section `mindspeed_rl`", "mindspeed_rl", "documented", MindSpeedKeys),
    Group("Section `local`", "local", "ours", LocalSection),
    Group("Undocumented shared keys", "", "undocumented", UndocumentedKeys),
    Group("Undocumented keys of `mindspeed_rl`", "mindspeed_rl", "undocumented", UndocumentedMindSpeedKeys),
)


def row(section: str, name: str) -> Row:
    """The row of one key."""
    field, key = field_of(section, name), dotted(section, name)
    shape = shape_of(field)
    return Row(
        section,
        name,
        _type(shape),
        "required" if field.is_required() else yaml_text(field.default),
        _constraint(shape),
        tuple(acts_on(key)),
        field_docs(model_of(section))[name],
    )


def rows() -> Iterator[Row]:
    """All keys of the format."""
    for group in GROUPS:
        yield from group.rows


def render() -> str:
    """The page in Markdown."""
    return "\n".join([_INTRODUCTION, _versions(), *(_table(group) for group in GROUPS)])


def _type(shape: Shape) -> str:
    words = {"text": "str", "choice": "str", "list": "list[str]"}.get(shape.kind, shape.kind)
    return f"{words} or null" if shape.optional else words


def _constraint(shape: Shape) -> str:
    if shape.path and not shape.text:
        return _PATHS[shape.path.kind]
    if shape.text or shape.choices:
        return shape.rule.removesuffix(", or null")
    return shape.bounds


def _table(group: Group) -> str:
    head = (
        ["", f"## {group.title}", "", _NOTES[group.origin], ""]
        if _NOTES[group.origin]
        else ["", f"## {group.title}", ""]
    )
    columns = ["| Key | Type | Default | Constraint | [Acts on](#acts-on) | Description |", "|---|---|---|---|---|---|"]
    return "\n".join([*head, *columns, *(_line(one) for one in group.rows)])


def _versions() -> str:
    """For which version of each backend the column `Acts on` holds."""
    columns = ["| Backend | Established for | Keys without effect |", "|---|---|---|"]
    lines = [
        f"| {backend} | {dead.version} | {', '.join(f'`{key}`' for key in dead.keys)} |"
        for backend, dead in DEAD.items()
    ]
    return "\n".join(["", "## Acts on", "", _ACTS_ON, "", *columns, *lines])


def _line(one: Row) -> str:
    default = one.default if one.default == "required" else f"`{one.default}`"
    also = [key.rpartition(".")[2] for key, real in ALIASES.items() if real == dotted(one.section, one.key)]
    description = one.description + "".join(f" Also spelled `{name}`." for name in also)
    backends = ", ".join(one.acts_on) or "nothing"
    cells = [f"`{one.key}`", one.type, default, one.constraint, backends, description]
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


_PATHS: dict[Kind, str] = {
    "file": "secure path of a file",
    "folder": "secure path of a folder",
    "any": "secure path of a file or folder",
    "prefix": "secure path, or the beginning of secure files' paths",
}

_NOTES: dict[Origin, str] = {
    "documented": "",
    "ours": "Ours: the published format does not have these keys.",
    "undocumented": "The released system reads these keys, its documentation does not name them: each draws a warning.",
}

_ACTS_ON = """The tables below say with which backends a key has an effect. That was established for these versions;
others may differ. A key that is written and has no effect with the chosen backend draws the warning ARL200."""

_INTRODUCTION = """# The flat format

<!-- Made from the schema by `python -m agentic_rl.config.flat.reference`; do not edit. -->

`agentic-rl --config-path FILE` reads one YAML file. Shared keys stand at the top level. The keys of a backend stand
below the section of its name, indented, and `train_backend` chooses the section. `agentic-rl check FILE` reports
everything that is wrong with a file, `agentic-rl schema flat` prints this page's facts as a JSON Schema for editors.

Values are read strictly: no text for a number, no `1` for `true`; a whole number may stand where a number is wanted.
NaN and infinity are refused. A *secure path* is absolute, exists, has at most 1024 characters, is no symbolic link and
holds none, belongs to the current user, and has mode 750 for folders and 640 for files, down to the last one."""


if __name__ == "__main__":
    print(render())
