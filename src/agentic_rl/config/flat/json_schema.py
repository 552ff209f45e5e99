"""The JSON Schema of the flat format: an editor completes, explains and checks with it."""

from __future__ import annotations

from typing import Any

from agentic_rl.config.fields.documentation import field_docs
from agentic_rl.config.flat.names import ALIASES, MOVED, SECTIONS, UNDOCUMENTED, VALUE_ALIASES, dotted, model_of
from agentic_rl.config.flat.needs import MINDSPEED_NEEDS
from agentic_rl.config.flat.schema import FlatConfig

DIALECT = "https://json-schema.org/draft/2020-12/schema"
TITLE = "agentic_rl flat configuration"
DESCRIPTION = "Shared keys at the top level, and one section for each backend."


def json_schema() -> dict[str, Any]:
    """The schema as plain values (draft 2020-12): types, ranges, choices, defaults, descriptions, other spellings.

    It accepts what `check` accepts key by key. Relations between keys are beyond it, except that the chosen backend's
    section must be there.
    """
    schema = FlatConfig.model_json_schema()
    definitions = schema["$defs"]
    _complete(schema, "")
    for section, model in SECTIONS.items():
        _complete(definitions[model.__name__], section)
    for key, spellings in VALUE_ALIASES.items():
        section, _, name = key.rpartition(".")
        definitions[SECTIONS[section].__name__]["properties"][name]["enum"] += list(spellings)
    chosen = [_requires_section(section) for section in SECTIONS]
    return {"$schema": DIALECT, **schema, "title": TITLE, "description": DESCRIPTION, "allOf": chosen}


def _complete(schema: dict[str, Any], level: str) -> None:
    """Add what pydantic does not know: documentation, other spellings, which keys are undocumented."""
    model = model_of(level)
    properties = schema["properties"]
    for name, text in field_docs(model).items():
        properties[name].pop("title", None)
        properties[name]["description"] = text
        if dotted(level, name) in UNDOCUMENTED:
            properties[name]["deprecated"] = True
    for written, real in {**ALIASES, **MOVED}.items():
        section, _, name = written.rpartition(".")
        if section == level:
            properties[name] = _other_name(real, properties)
    schema["description"] = model.__doc__


def _other_name(real: str, properties: dict[str, Any]) -> dict[str, Any]:
    name = real.rpartition(".")[2]
    there = properties.get(name, {"type": "integer", "exclusiveMinimum": 0})
    return {**there, "description": f"Another spelling of {real}.", "deprecated": True}


def _requires_section(section: str) -> dict[str, Any]:
    needs = MINDSPEED_NEEDS if section == "mindspeed_rl" else ()
    return {
        "if": {"properties": {"train_backend": {"const": section}}, "required": ["train_backend"]},
        "then": {"properties": {section: {"type": "object"}}, "required": [section, *needs]},
    }
