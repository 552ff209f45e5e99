"""From a file to a checked configuration and a report of everything that is wrong, in one run."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentic_rl.config import secure_paths
from agentic_rl.config.diagnostics import Finding, Place, Report
from agentic_rl.config.formats import NAMES, Format, detect, tell_tale
from agentic_rl.config.loaded import Loaded
from agentic_rl.config.mapping import document_of
from agentic_rl.config.source import Document, read

if TYPE_CHECKING:
    from agentic_rl.config.artifacts import Reader
    from agentic_rl.config.aura.schema import AuraConfig
    from agentic_rl.config.flat import FlatConfig

__all__ = ["Loaded", "check", "load", "load_config", "load_document", "read_document"]

NOT_READ_YET = "ARL014"
FilePath = str | os.PathLike[str]


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
    if found == "rlinf":
        sources = {document.file: document.lines} if document.file else {}
        return Loaded(document, found, report=Report([*document.findings, _not_read_yet(document, found)], sources))
    if found == "aura":
        from agentic_rl.config.aura.loading import load_aura

        return load_aura(document, overrides, environ, files=files, device_memory=device_memory, readers=readers)
    from agentic_rl.config.flat.loading import load_flat

    return load_flat(
        document,
        overrides,
        environ,
        files=files,
        device_memory=device_memory,
        findings=findings,
        readers=readers,
    )


def load_config(path: FilePath | Mapping[str, Any], overrides: Sequence[str] = ()) -> FlatConfig | AuraConfig:
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
