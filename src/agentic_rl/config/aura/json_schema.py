"""The JSON Schema of the instances format: an editor completes, explains and checks with it."""

from __future__ import annotations

from typing import Any

from agentic_rl.config.aura.names import KWARGS
from agentic_rl.config.aura.reading import section_of
from agentic_rl.config.aura.schema import AuraConfig
from agentic_rl.config.aura.schema.section import Section
from agentic_rl.config.fields.documentation import field_docs
from agentic_rl.config.flat.json_schema import DIALECT

TITLE = "agentic_rl instances configuration"
DESCRIPTION = "Sections of the run, native configurations of the engines, and lists of instances."
REFERENCE = {"type": "string", "pattern": r"\$\{"}
"""What may stand in the place of any value."""
_ADDRESSES = ("chat_server", "prefill_server_list", "decode_server_list")
"""Keys that take one address or a list."""


def json_schema() -> dict[str, Any]:
    """The schema as plain values (draft 2020-12): types, ranges, choices, defaults, descriptions, released names.

    A reference may stand for any value, and keys that the format does not document are left to `check`. What templates
    may give is not required.
    """
    schema = AuraConfig.model_json_schema()
    definitions: dict[str, Any] = schema["$defs"]
    _complete(schema, AuraConfig)
    for model in _models(AuraConfig):
        _complete(definitions[model.__name__], model)
    kwargs = next(one for one in definitions.values() if "cluster_mode" in one["properties"])
    for released, documented in KWARGS.items():
        described = f"Released since for {documented}."
        kwargs["properties"][released] = {**kwargs["properties"][documented], "description": described}
    return {"$schema": DIALECT, **schema, "title": TITLE, "description": DESCRIPTION}


def _models(model: type[Section]) -> list[type[Section]]:
    """The sections below a section."""
    found: dict[type[Section], None] = {}
    pending = [model]
    while pending:
        below = [one for one in map(section_of, pending.pop().model_fields.values()) if one and one not in found]
        found |= dict.fromkeys(below)
        pending += below
    return list(found)


def _complete(schema: dict[str, Any], model: type[Section]) -> None:
    """Add documentation, and references as values."""
    schema.pop("required", None)
    docs = field_docs(model)
    for name, one in schema["properties"].items():
        kept = {key: one.pop(key) for key in ("default", "examples") if key in one}
        one.pop("title", None)
        other = {"type": "string"} if name in _ADDRESSES else REFERENCE
        schema["properties"][name] = {"anyOf": [one, other], **kept, "description": docs.get(name, "")}
    schema["description"] = model.__doc__
