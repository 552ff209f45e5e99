"""A tree under documented names -> a typed configuration of everything that validates, and findings about the rest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, get_args, get_origin

from pydantic import ValidationError
from pydantic.fields import FieldInfo

from agentic_rl.config.aura.places import PlacedFindings
from agentic_rl.config.aura.schema import AuraConfig
from agentic_rl.config.aura.schema.section import Section
from agentic_rl.config.fields.broken import Broken
from agentic_rl.config.fields.pages import MISSING, NULL, WRONG_TYPE
from agentic_rl.config.fields.shape import shape_of
from agentic_rl.config.fields.values import judge
from agentic_rl.config.fields.wording import show, type_words
from agentic_rl.config.types import RuleText

Loc = tuple[int | str, ...]
_PASSES = 5
"""A value that is put where one is lacking may lack something itself, so deep as sections are nested."""
UNSET = "???"
"""Hydra's word for a value that has to be given."""


def read(tree: Mapping[str, Any], findings: PlacedFindings) -> tuple[AuraConfig, set[str]]:
    """Everything that validates, and the dotted keys whose value is broken or missing.

    Pydantic gives no part of a model that failed. So broken values are left out and documented examples put where a
    required value is lacking, until the rest validates; callers never look at a lacking key.
    """
    pruned = _copied(tree)
    lacking: set[str] = set()
    for _ in range(_PASSES):
        try:
            return AuraConfig.model_validate(pruned), lacking
        except ValidationError as error:
            errors = error.errors(include_url=False, include_context=False)
        for one in reversed(errors):  # from the end, so that items that are taken out do not move others
            _put_right(one["loc"], one["type"], pruned, lacking, findings)
    return AuraConfig.model_validate({"agentic_ai": {"mode": "direct", "log_dir": "/"}}), {
        *lacking,
        *AuraConfig.model_fields,
    }


def values_of(config: Section, lacking: set[str], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Dotted key -> value of everything that did validate, documented defaults and further keys included."""
    documented = {name: getattr(config, name) for name in type(config).model_fields}
    for name, value in {**documented, **(config.model_extra or {})}.items():
        yield from _values(value, f"{prefix}{name}", lacking)


def _values(value: Any, key: str, lacking: set[str]) -> Iterator[tuple[str, Any]]:
    if key in lacking:
        return
    if isinstance(value, Section):
        yield from values_of(value, lacking, f"{key}.")
        return
    yield key, value
    if isinstance(value, Mapping):
        for name, below in value.items():
            yield from _values(below, f"{key}.{name}", lacking)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            if isinstance(item, (Section, Mapping)):
                yield from _values(item, f"{key}[{index}]", lacking)


def dotted(loc: Loc) -> str:
    """`("a", 0, "b")` -> `a[0].b`."""
    key = ""
    for part in loc:
        key += f"[{part}]" if isinstance(part, int) else f".{part}" if key else part
    return key


def field_at(loc: Loc) -> FieldInfo | None:
    """The documented field that `loc` names, or whose item it names; None below free mappings."""
    model: type[Section] | None = AuraConfig
    found: FieldInfo | None = None
    for part in loc:
        if isinstance(part, int):
            continue
        found = model.model_fields.get(part) if model else None
        model = section_of(found) if found else None
    return found


def section_of(field: FieldInfo) -> type[Section] | None:
    """The section that a field holds, or a list of which it holds."""
    pending = [field.annotation]
    while pending:
        one = pending.pop()
        if isinstance(one, type) and not get_origin(one) and issubclass(one, Section):
            return one
        pending += get_args(one)
    return None


def _copied(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(name): _copied(below) for name, below in value.items()}
    return [_copied(item) for item in value] if isinstance(value, list) else value


def _put_right(loc: Loc, error: str, tree: Any, lacking: set[str], findings: PlacedFindings) -> None:
    """Report one error, and change `tree` so that it is gone."""
    field, holder = field_at(loc), _at(tree, loc[:-1])
    made_up = any(dotted(loc[:depth]) in lacking for depth in range(1, len(loc)))
    key, last = dotted(loc), loc[-1]
    if not made_up and key not in lacking:
        _report(loc, error, field, holder, findings)
    lacking.add(key)
    if isinstance(last, int):
        holder[last] = _stand_in(field, item=True)
        return
    holder.pop(last, None)
    if field is not None and field.is_required():
        holder[last] = _stand_in(field)


def _stand_in(field: FieldInfo | None, *, item: bool = False) -> Any:
    """Something that validates, or nearly, in the place of what is broken."""
    if field is None:
        return None
    if section_of(field) or (item and _is_mapping(field)):
        return {}
    return "" if item else (field.examples or [None])[0]


def _report(loc: Loc, error: str, field: FieldInfo | None, holder: Any, findings: PlacedFindings) -> None:
    key, last = dotted(loc), loc[-1]
    value = holder[last] if error != "missing" else UNSET
    if isinstance(value, str) and value == UNSET:
        findings.add(MISSING, key, "required, but nobody wrote it", f"write {rule_of(field)}")
    elif field is None or section_of(field) or _is_mapping(field):
        _report_section(key, value, field, findings)
    else:
        name = str(last) if isinstance(last, str) else f"item {last}"
        default = None if field.is_required() or isinstance(last, int) else field.default
        shape = shape_of(field) if isinstance(last, str) else shape_of(field).item
        verdict = judge(Broken(name, value, shape, error, default))
        findings.add(verdict.page, key, verdict.message, verdict.hint)


def _report_section(key: str, value: Any, field: FieldInfo | None, findings: PlacedFindings) -> None:
    rule = rule_of(field) if not key.endswith("]") else "a mapping"
    if value is None:
        findings.add(NULL, key, f"null (nothing written) where {rule} belongs", f"write {rule}, or remove the key")
    else:
        findings.add(WRONG_TYPE, key, f"{show(value)} is {type_words(value)}; it must be {rule}", f"write {rule}")


def rule_of(field: FieldInfo | None) -> str:
    """What a field accepts, in words."""
    if field is None:
        return "a mapping"
    told = next((one.text for one in field.metadata if isinstance(one, RuleText)), None)
    if told:
        return told
    if get_origin(field.annotation) is list and section_of(field):
        return "a list of mappings"
    return "a mapping of its keys" if section_of(field) or _is_mapping(field) else shape_of(field).rule


def _is_mapping(field: FieldInfo) -> bool:
    pending = [field.annotation]
    while pending:
        one = pending.pop()
        if get_origin(one) is dict:
            return True
        pending += get_args(one)
    return False


def _at(tree: Any, loc: Loc) -> Any:
    for part in loc:
        tree = tree[part]
    return tree
