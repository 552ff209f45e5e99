"""A document of the instances format, composed and checked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from agentic_rl.config.artifacts import Reader
from agentic_rl.config.aura.composition import Composed, compose
from agentic_rl.config.aura.files import look_at_files
from agentic_rl.config.aura.native_keys import native_key_findings
from agentic_rl.config.aura.provenance import template_differences
from agentic_rl.config.aura.validation import Validated, validate
from agentic_rl.config.diagnostics import ENVIRONMENT, Finding, Report
from agentic_rl.config.loaded import Loaded
from agentic_rl.config.overrides import misnamed
from agentic_rl.config.rules import DEVICE_MEMORY
from agentic_rl.config.source import Document


def load_aura(
    document: Document,
    overrides: Sequence[str],
    environ: Mapping[str, str],
    *,
    files: bool,
    device_memory: int | None,
    readers: Sequence[Reader] | None = None,
) -> Loaded:
    """See `agentic_rl.config.load.load_document`."""
    sources = {document.file: document.lines} if document.file else {}
    loaded = Loaded(document, "aura", report=Report([*document.findings], sources))
    composed = compose(document, overrides, environ)
    validated = validate(composed)
    loaded.composed, loaded.config, loaded.values = composed, validated.config, validated.values
    loaded.written_as = validated.written_as
    loaded.sources = dict(_sources(composed, validated))
    loaded.facts = {} if device_memory is None else {DEVICE_MEMORY: device_memory}
    loaded.report.extend([*composed.findings, *misnamed(environ, lambda: loaded.values)])
    said = {one.key for one in validated.findings if one.severity == "error"}
    native = [one for one in native_key_findings(composed) if one.key not in said]
    further = [*validated.findings, *native, *template_differences(composed, loaded.values)]
    if files:
        looked_at = look_at_files(validated, composed, environ, readers)
        loaded.checked = looked_at.checked
        loaded.facts |= looked_at.facts
        further += looked_at.findings
    loaded.report.extend(_told(one, composed) for one in _judged_once(further, document, composed, validated))
    return loaded


def _sources(composed: Composed, validated: Validated) -> Iterator[tuple[str, str]]:
    """Documented and written keys of what a person wrote, each with where."""
    for key in composed.written:
        origin = composed.origins.get(key)
        yield key, origin.kind if origin is not None else "file"
    for documented, written in validated.written_as.items():
        origin = composed.origins.get(written)
        yield documented, origin.kind if origin is not None else "file"


def _judged_once(
    findings: Sequence[Finding], document: Document, composed: Composed, validated: Validated
) -> Iterator[Finding]:
    """Those about keys that have no finding of the reader or of the composition."""
    written = {key for key, origin in composed.origins.items() if origin.kind in ("command line", "environment")}
    flawed = composed.flawed | (document.flawed - written)
    for one in findings:
        if one.key not in flawed and validated.written_as.get(one.key) not in flawed:
            yield one


def _told(finding: Finding, composed: Composed) -> Finding:
    """The finding with the variable that set the value."""
    if finding.file != ENVIRONMENT:
        return finding
    origin = composed.origins.get(finding.key)
    suffix = f" (set by {origin.name})" if origin is not None and origin.name else ""
    return replace(finding, message=finding.message + suffix)
