"""From a file to a checked configuration and a report of everything that is wrong, in one run."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentic_rl.config import flat, resolved, secure_paths
from agentic_rl.config.diagnostics import COMMAND_LINE, ENVIRONMENT, ConfigError, Finding, Place, Report
from agentic_rl.config.flat.files import check_texts, named_paths, placed
from agentic_rl.config.flat.findings import PlaceOf
from agentic_rl.config.flat.names import ALIASES, MOVED, known_keys
from agentic_rl.config.flat.placed import Placed
from agentic_rl.config.formats import NAMES, Format, detect, tell_tale
from agentic_rl.config.mapping import document_of
from agentic_rl.config.overrides import Overridden, misnamed, override, set_by
from agentic_rl.config.reporting.forms import Form, rendered
from agentic_rl.config.rules import DEVICE_MEMORY
from agentic_rl.config.source import Document, read

if TYPE_CHECKING:
    from agentic_rl.config.artifacts import Reader

NOT_READ_YET, NOT_LOOKED_AT, DOTTED = "ARL014", "ARL015", "ARL016"
OTHER_NAMES = {**ALIASES, **MOVED}
FilePath = str | os.PathLike[str]


@dataclass
class Loaded:
    """A configuration as far as it could be read, and the report about it."""

    document: Document
    format: Format = "flat"
    config: flat.FlatConfig | None = None
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

    def require(self) -> flat.FlatConfig:
        """The typed configuration.

        Raises:
            ConfigError: the report has an error.
        """
        if self.config is None or self.report.verdict == "error":
            raise ConfigError(self.report)
        return self.config

    def effective(self) -> dict[str, Any]:
        """The configuration as read, section by section, defaults included; without what did not validate."""
        tree: dict[str, Any] = {}
        for key, value in self.values.items():
            section, _, name = key.rpartition(".")
            (tree.setdefault(section, {}) if section else tree)[name] = value
        return tree

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


def load(
    path: FilePath | Mapping[str, Any],
    overrides: Sequence[str] = (),
    *,
    files: bool = True,
    environ: Mapping[str, str] | None = None,
    device_memory: int | None = None,
) -> Loaded:
    """Read, complete and check a configuration. Bad input gives findings, never an exception.

    Args:
        path: A YAML file, relative to the current folder or absolute; or a mapping in its place. Anything else is a
            mistake in the calling program and raises TypeError.
        overrides: `key=value` each; they win over the environment, which wins over the file.
        files: Look at the files that the configuration names, and at the modes of its own file. Without, only what the
            texts of their paths show is reported.
        environ: The environment; the process's own where it is left out.
        device_memory: Bytes of one device, for rules that compare what a run needs with it.
    """
    document, own_findings = read_document(path, files)
    return load_document(
        document, overrides, files=files, environ=environ, device_memory=device_memory, findings=own_findings
    )


def load_document(
    document: Document,
    overrides: Sequence[str] = (),
    *,
    files: bool = True,
    environ: Mapping[str, str] | None = None,
    device_memory: int | None = None,
    findings: Sequence[Finding] = (),
    readers: Sequence[Reader] | None = None,
) -> Loaded:
    """Complete and check what was read already; `findings` about the file itself are taken over. See `load`.

    `readers` read the files that the configuration names; those of a run over many files remember
    them. None: those of one run over one file.
    """
    environ = os.environ if environ is None else environ
    found = detect(document.tree)
    sources = {document.file: document.lines} if document.file else {}
    if found != "flat":
        return Loaded(document, found, report=Report([*document.findings, _not_read_yet(document, found)], sources))
    tree, dotted = _without_dotted_keys(document)
    tree = resolved.written(document, tree)
    overridden = override(tree, overrides, environ, lambda key: OTHER_NAMES.get(key, key))
    loaded = Loaded(document, report=Report([*document.findings, *findings, *dotted, *overridden.findings]))
    loaded.report.extend(misnamed(environ, known_keys))
    loaded.facts = {} if device_memory is None else {DEVICE_MEMORY: device_memory}
    if document.whole:
        place_of = _places(document, overridden)
        validated = _validate(loaded, overridden, place_of)
        if files:
            further = _look_at_files(loaded, validated, place_of, environ, readers)
        else:
            further = [*check_texts(loaded.values, place_of), _not_looked_at(loaded)]
        loaded.report.extend(_told(finding, overridden) for finding in further)
    loaded.report = Report([_with_command(finding, document.file) for finding in loaded.report.findings], sources)
    return loaded


def load_config(path: FilePath | Mapping[str, Any], overrides: Sequence[str] = ()) -> flat.FlatConfig:
    """Read and check a configuration.

    Raises:
        ConfigError: with the report of everything that is wrong.
    """
    return load(path, overrides).require()


def check(path: FilePath | Mapping[str, Any], overrides: Sequence[str] = (), *, files: bool = True) -> Report:
    """Everything that is wrong with a configuration; see `load` for the arguments."""
    return load(path, overrides, files=files).report


def read_document(path: FilePath | Mapping[str, Any], files: bool) -> tuple[Document, list[Finding]]:
    """The text of a file or mapping, and what is wrong with the file itself (the format asks for a secure path)."""
    if isinstance(path, Mapping):
        return document_of(path), []
    name = os.fspath(path) if isinstance(path, (str, os.PathLike)) else None
    if not isinstance(name, str):
        raise TypeError(f"a configuration is a path (str or os.PathLike[str]) or a mapping, not {type(path).__name__}")
    own = _check_own(name) if files else secure_paths.PathCheck()
    document = read(name, own.checked.open if own.checked else None)
    unread = any(finding.line is None for finding in document.findings)
    return document, [] if unread else [replace(finding, file=name) for finding in own.findings]


def _check_own(name: str) -> secure_paths.PathCheck:
    try:
        absolute = str(Path(name).absolute())
    except OSError:  # the current folder was removed; reading will say that there is no such file
        return secure_paths.PathCheck()
    return secure_paths.check_path(absolute, "", "file")


def _not_read_yet(document: Document, found: Format) -> Finding:
    key = tell_tale(document.tree, found)
    place = document.places.get(key, Place(document.file))
    message = f"a key of {NAMES[found]}, which this version does not read yet; it reads {NAMES['flat']}"
    hint = "see the configuration reference for the keys of the flat format (train_backend, lr, verl: ...)"
    return Finding(NOT_READ_YET, "error", key, message, hint, place.file, place.line, place.column)


def _without_dotted_keys(document: Document) -> tuple[dict[str, Any], list[Finding]]:
    """The tree without names that findings and overrides would take for keys of a section."""
    tree: dict[str, Any] = {}
    findings = []
    for name, value in document.tree.items():
        if "." not in name:
            tree[name] = value
            continue
        section, _, rest = name.partition(".")
        place = document.places.get(name, Place(document.file))
        message = "the dot is part of the name here; YAML does not read it as a section and its key"
        hint = f"write `{section}:` and below it, indented, `{rest}: ...`"
        findings.append(Finding(DOTTED, "error", name, message, hint, place.file, place.line, place.column))
    return tree, findings


def _places(document: Document, overridden: Overridden) -> PlaceOf:
    """Where a value was set: on the command line, in the environment, or at a place of the document."""

    def place_of(key: str) -> Place | None:
        override = overridden.overrides.get(key)
        return Place(override.source) if override else document.places.get(key)

    return place_of


def _validate(loaded: Loaded, overridden: Overridden, place_of: PlaceOf) -> flat.Validated:
    """Fill in the configuration, its values and what is wrong with them."""
    document = loaded.document
    loaded.sources = dict.fromkeys(document.places, "file") | {
        key: override.source for key, override in overridden.overrides.items()
    }
    validated = flat.validate(overridden.tree, place_of)
    loaded.config, loaded.values, loaded.placed = validated.config, validated.values, validated.placed
    flawed = document.flawed - overridden.overrides.keys()
    loaded.report.extend(_told(finding, overridden) for finding in validated.findings if finding.key not in flawed)
    return validated


def _look_at_files(
    loaded: Loaded,
    validated: flat.Validated,
    place_of: PlaceOf,
    environ: Mapping[str, str],
    readers: Sequence[Reader] | None,
) -> list[Finding]:
    """Check the paths, read what they name, and relate that to the values."""
    from agentic_rl.config import artifacts
    from agentic_rl.config.flat.artifact_registry import relate

    looked_at = flat.check_files(loaded.values, place_of)
    loaded.checked = looked_at.checked
    found = artifacts.read(loaded.values, loaded.checked, environ, artifacts.READERS if readers is None else readers)
    loaded.facts |= found.facts
    return [
        *looked_at.findings,
        *(placed(finding, finding.key, place_of) for finding in found.findings),
        *relate(validated, loaded.facts, place_of),
    ]


def _not_looked_at(loaded: Loaded) -> Finding:
    left_out = ", ".join(named_paths(loaded.values)) or "the files that the configuration names"
    own = ", and the file's own mode and owner" if loaded.document.file else ""
    return Finding(NOT_LOOKED_AT, "note", "", f"not looked at: {left_out}{own}", "", loaded.document.file)


def _told(finding: Finding, overridden: Overridden) -> Finding:
    """The finding with the source of the value: what was not written in a file has neither line nor column."""
    if finding.file not in (COMMAND_LINE, ENVIRONMENT, ""):
        return finding
    source = overridden.overrides.get(finding.key.partition("[")[0])
    suffix = set_by(source) if source else ""
    return replace(finding, message=finding.message + suffix, line=None, column=None)


def _with_command(finding: Finding, file: str) -> Finding:
    """The finding whose remedy is a command that can be pasted as it is."""
    return (
        replace(finding, hint=finding.hint.replace("check FILE ", f"check {shlex.quote(file)} ")) if file else finding
    )
