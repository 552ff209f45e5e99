"""The reference page of the instances format, made from the schema.

`python -m agentic_rl.config.aura.reference > docs/reference/instances.md` writes it; a test compares the two.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import get_origin

from pydantic.fields import FieldInfo

from agentic_rl.config.aura.reading import rule_of, section_of
from agentic_rl.config.aura.schema import AuraConfig
from agentic_rl.config.aura.schema.section import Section
from agentic_rl.config.fields.documentation import field_docs
from agentic_rl.config.fields.wording import yaml_text

_INTRODUCTION = """\
# The instances format

<!-- Made by `python -m agentic_rl.config.aura.reference > docs/reference/instances.md`; do not edit. -->

Every documented key. Further keys of verl stand below `verl_conf` as verl has them; `msrl_conf` holds MindSpeed-RL's
own. A value comes from the file and the overrides, else from the templates that `defaults` names, else from here.
"""


def render() -> str:
    """The page, in Markdown."""
    return "\n".join([_INTRODUCTION, *_sections(AuraConfig, "")])


def _sections(model: type[Section], prefix: str) -> Iterator[str]:
    """A table of the keys of a section, and those of the sections below it."""
    docs = field_docs(model)
    rows = [
        f"| `{name}` | {_default(field)} | {_cell(rule_of(field))} | {_cell(docs[name])} |"
        for name, field in model.model_fields.items()
        if section_of(field) is None or get_origin(field.annotation) is list
    ]
    if rows:
        head = [f"## `{prefix.rstrip('.')}`" if prefix else "## At the top", ""]
        yield "\n".join([*head, "| key | default | value | what it is |", "|---|---|---|---|", *rows, ""])
    for name, field in model.model_fields.items():
        below = section_of(field)
        if below is not None:
            yield from _sections(below, f"{prefix}{name}{'[]' if get_origin(field.annotation) is list else ''}.")


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    if field.default is None:
        return ""
    return "`{}`" if field.default == {} else f"`{yaml_text(field.default)}`"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    print(render(), end="")
