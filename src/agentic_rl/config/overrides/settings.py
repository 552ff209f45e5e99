"""The layers of a configuration as sources of pydantic-settings. Imported only where there is something to override."""

from __future__ import annotations

from typing import Any

from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource


class TreeSource(PydanticBaseSettingsSource):
    """One layer, already read: the command line, the environment or the file."""

    def __init__(self, settings_cls: type[BaseSettings], tree: dict[str, Any]) -> None:
        super().__init__(settings_cls)
        self._tree = tree

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[Any, str, bool]:
        """The whole layer: the only field there is."""
        return self._tree, field_name, False

    def __call__(self) -> dict[str, Any]:
        """The layer as the value of the only field."""
        return {"tree": self._tree}


def merge(*layers: dict[str, Any]) -> dict[str, Any]:
    """One tree of several, section by section; where two set a key, the earlier layer wins."""

    class Layers(BaseSettings):
        tree: dict[str, Any] = {}

        @classmethod
        def settings_customise_sources(
            cls, settings_cls: type[BaseSettings], *args: Any, **kwargs: Any
        ) -> tuple[PydanticBaseSettingsSource, ...]:
            return tuple(TreeSource(settings_cls, layer) for layer in layers)

    return Layers().tree
