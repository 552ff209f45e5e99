"""What is known of a configuration once it was read and checked."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentic_rl.config import secure_paths
from agentic_rl.config.diagnostics import ConfigError, Finding, Place, Report
from agentic_rl.config.flat import FlatConfig
from agentic_rl.config.flat.files import named_paths
from agentic_rl.config.flat.placed import Placed
from agentic_rl.config.formats import NAMES, Format, tell_tale
from agentic_rl.config.reporting.forms import Form, rendered
from agentic_rl.config.rules import describe
from agentic_rl.config.source import Document

if TYPE_CHECKING:
    from agentic_rl.config.aura.composition import Composed
    from agentic_rl.config.aura.provenance import Provenance
    from agentic_rl.config.aura.schema import AuraConfig

OTHER_FORMAT = describe(
    "ARL043",
    "File of another format",
    "error",
    "The command reads configurations of one format, and the file is of another: the flat format has its keys at the "
    "top (`train_backend`, `lr`), the instances format has sections such as `agentic_ai` and `train_instances`.",
)


@dataclass
class Loaded:
    """A configuration as far as it could be read, and the report about it."""

    document: Document
    format: Format = "flat"
    config: FlatConfig | AuraConfig | None = None
    """Typed; None where a value is wrong or missing."""
    report: Report = field(default_factory=Report)
    values: dict[str, Any] = field(default_factory=dict)
    """Dotted key -> value of everything that did validate, defaults included."""
    sources: dict[str, str] = field(default_factory=dict)
    """Dotted key -> `file`, `command line` or `environment`, for what somebody wrote."""
    placed: Placed = field(default_factory=Placed)
    """The keys that somebody wrote, at their real places."""
    checked: dict[str, secure_paths.CheckedPath] = field(default_factory=dict)
    """Dotted key -> the path that was checked, for opening exactly that one."""
    facts: dict[str, Any] = field(default_factory=dict)
    """What files and the machine say, by keys that begin with `@`."""
    composed: Composed | None = None
    """Of the instances format: what templates, overrides and references made of the file."""
    written_as: dict[str, str] = field(default_factory=dict)
    """Of the instances format: documented key -> the released name that the file has for it."""

    def require(self) -> FlatConfig | AuraConfig:
        """The typed configuration.

        Raises:
            ConfigError: the report has an error.
        """
        if self.config is None or self.report.verdict == "error":
            raise ConfigError(self.report)
        return self.config

    def require_flat(self) -> FlatConfig:
        """The typed configuration of the flat format.

        Raises:
            ConfigError: the report has an error, or the file is of another format.
        """
        config = self.require()
        if isinstance(config, FlatConfig):
            return config
        raise ConfigError(self._with(_other_format(self, "flat")))

    def require_aura(self) -> AuraConfig:
        """The typed configuration of the instances format.

        Raises:
            ConfigError: the report has an error, or the file is of another format.
        """
        config = self.require()
        if isinstance(config, FlatConfig):
            raise ConfigError(self._with(_other_format(self, "aura")))
        return config

    def require_composed(self) -> Composed:
        """What the file of the instances format was composed to.

        Raises:
            ConfigError: the file is of another format, or could not be read.
        """
        if self.composed is None:
            raise ConfigError(self._with(_other_format(self, "aura")))
        return self.composed

    def _with(self, finding: Finding) -> Report:
        return Report([*self.report.findings, finding], self.report.sources)

    def effective(self) -> dict[str, Any]:
        """The configuration as read, section by section, defaults included; without what did not validate."""
        if self.format == "aura":
            from agentic_rl.config.aura.nesting import nested

            return nested(self.values)
        tree: dict[str, Any] = {}
        for key, value in self.values.items():
            section, _, name = key.rpartition(".")
            (tree.setdefault(section, {}) if section else tree)[name] = value
        return tree

    def provenance(self) -> list[Provenance]:
        """Of the instances format: which of file, template and documentation gives each documented key its value."""
        if self.composed is None:
            return []
        from agentic_rl.config.aura.provenance import provenance

        return provenance(self.composed, self.values, self.written_as)

    def fix_permissions(self) -> list[str]:
        """Give the configuration's file and the paths that it names the modes 750 and 640; one line for each change."""
        if not self.document.whole or self.format != "flat":
            return []  # whatever this file is, it is not ours to change
        own = [str(Path(self.document.file).absolute())] if self.document.file else []
        named = [path for paths in named_paths(self.values).values() for path in paths]
        return [str(fix) for fix in secure_paths.fix_permissions([*own, *named])]

    def to_dict(self) -> dict[str, Any]:
        """The JSON form: the report's `verdict` and `findings`, and the effective `config`."""
        return {**self.report.to_dict(), "config": self.effective()}

    def render(self, form: Form = "text", *, colour: bool = False) -> str:
        """The report in one of its forms; colour concerns the text."""
        return rendered(form, self.report, self.to_dict, colour=colour)


def _other_format(loaded: Loaded, wanted: Format) -> Finding:
    tree = loaded.document.tree
    key = tell_tale(tree, loaded.format) if loaded.format != "flat" else next(iter(tree), "")
    place = loaded.document.places.get(key, Place(loaded.document.file))
    message = f"{NAMES[loaded.format]} shows here, and what was asked for takes {NAMES[wanted]}"
    hint = f"give a file of {NAMES[wanted]}"
    return Finding(OTHER_FORMAT.code, "error", key, message, hint, place.file, place.line, place.column)
