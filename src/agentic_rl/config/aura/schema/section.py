"""What all sections of the instances format have in common."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from agentic_rl.config.types import PositiveInt, RuleText


class Section(BaseModel):
    """A section: its documented keys are typed, further ones are kept as they are written."""

    model_config = ConfigDict(
        frozen=True, strict=True, extra="allow", allow_inf_nan=False, defer_build=True, protected_namespaces=()
    )

    def given(self) -> dict[str, Any]:
        """The section as plain values, documented defaults included; without keys that have none and nobody wrote."""
        own = {name: getattr(self, name) for name in type(self).model_fields}
        kept = {name: value for name, value in own.items() if value is not None or name in self.model_fields_set}
        return {name: _plain(value) for name, value in {**kept, **(self.model_extra or {})}.items()}


class Closed(Section):
    """A section that nothing but its documented keys has a meaning in."""


class Instance(Closed):
    """What instances of all three kinds have."""

    executor_num: PositiveInt = 1
    """Executors that are started for the instance."""
    resource_info: Annotated[
        list[dict[str, Any]], RuleText("a list of items `RESOURCE: amount`, such as `- NPU: 4`"), Field(default=[])
    ]
    """Resources of the whole instance, one `RESOURCE: amount` an item."""


def _plain(value: Any) -> Any:
    if isinstance(value, Section):
        return value.given()
    return [_plain(item) for item in value] if isinstance(value, list) else value


def as_list(value: Any) -> Any:
    """One text where a list of texts may stand."""
    return [value] if isinstance(value, str) else value


Addresses = Annotated[list[str], BeforeValidator(as_list), RuleText("an address, http://... or https://..., or a list")]
