"""Everything that is wrong with the native configuration that a file becomes, told by the file's own keys."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from agentic_rl.backends.verl.composition import TEMPLATE, compose
from agentic_rl.backends.verl.data_agents import check_agents
from agentic_rl.backends.verl.findings import NOT_VALIDATED, REFUSED, UNKNOWN_KEY
from agentic_rl.backends.verl.refusals import NoVerdictError, Refusal, refusals
from agentic_rl.backends.verl.run import VerlRun
from agentic_rl.config.diagnostics import Finding, Severity
from agentic_rl.config.verl_native.installation import Installation
from agentic_rl.config.verl_native.native_rules import native_facts, native_problems
from agentic_rl.config.verl_native.unknown_keys import unknown_keys


@dataclass(frozen=True)
class NativeFinding:
    """A finding by verl's key."""

    code: str
    severity: Severity
    key: str
    message: str
    hint: str

    @property
    def is_prose(self) -> bool:
        """Whether the remedy is a sentence, and not what the key should be."""
        return not self.hint or self.code in (REFUSED.code, UNKNOWN_KEY.code)


def findings(run: VerlRun, native: Mapping[str, Any], installation: Installation) -> list[Finding]:
    """What our rules, verl itself and the data say about `native`, in this order, each matter once.

    It starts a process that imports verl: about five seconds. Findings have the file's keys.

    Raises:
        BackendUnavailableError: verl is not installed.
        NativeConfigError: the installed verl lacks the template.
    """
    found = (one for one in native_findings(native, installation, run.loaded.facts) if not run.said_before(one))
    return [*_each_once(map(run.told, found)), *check_agents(run)]


def native_findings(
    native: Mapping[str, Any], installation: Installation, facts: Mapping[str, Any] | None = None
) -> list[NativeFinding]:
    """The same by verl's own keys, without the data: for a configuration that was written in them.

    Raises:
        BackendUnavailableError: verl is not installed.
        NativeConfigError: the installed verl lacks the template.
    """
    template = template_of(native, installation)
    verl = installation.config_dir.parents[1] if installation.config_dir else None
    unknown = [
        NativeFinding(
            UNKNOWN_KEY.code,
            "error" if one.dataclass else "warning",
            one.key,
            f"verl has no key {one.key}; " + (f"{one.dataclass} refuses it" if one.dataclass else "it is ignored"),
            f"did you mean {' or '.join(one.near)}?" if one.near else f"remove {one.key}",
        )
        for one in unknown_keys(native, template, verl)
    ]
    broken = [
        NativeFinding(
            rule.page.code, problem.severity or rule.page.severity, problem.key, problem.message, problem.hint
        )
        for rule, problem in native_problems(native_facts(native, installation, template=template, facts=facts))
    ]
    return list(_with_refusals([*unknown, *broken], native))


def template_of(native: Mapping[str, Any], installation: Installation) -> dict[str, Any]:
    """Compose verl's defaults for the training engine of `native`; references between keys stand as they are written.

    Raises:
        BackendUnavailableError: verl is not installed.
        NativeConfigError: the installed verl has no such engine.
    """
    from omegaconf import OmegaConf

    engine = native.get("model_engine")
    composed = compose(TEMPLATE, installation, [f"model_engine={engine}"] if isinstance(engine, str) else [])
    template: dict[str, Any] = OmegaConf.to_container(composed)
    return template


def _with_refusals(broken: list[NativeFinding], native: Mapping[str, Any]) -> Iterator[NativeFinding]:
    """Our findings, those that verl refuses as well with its words; then what verl alone refuses."""
    try:
        refused = refusals(native)
    except NoVerdictError as error:
        yield from broken
        severity: Severity = "warning" if error.too_late else "error"
        hint = "try `python -c 'import verl'`" if severity == "error" else "check again when the machine is less busy"
        yield NativeFinding(NOT_VALIDATED.code, severity, "", str(error), hint)
        return
    by_key: dict[str, Refusal] = {}
    for refusal in refused:
        by_key.setdefault(refusal.key, refusal)
    for one in broken:
        same = by_key.get(one.key) if one.severity == "error" else None
        yield replace(one, message=f"{one.message}; verl says: {same.words}") if same else one
    said = {one.key for one in broken if one.severity == "error"}
    if any(one.code == "ARL545" for one in broken):
        said.add("")  # verl stumbles over a value of another kind, and its words name no key
    for refusal in refused:
        if refusal.key not in said:
            said |= {refusal.key} - {""}
            yield _of_verl(refusal)


def _of_verl(refusal: Refusal) -> NativeFinding:
    return NativeFinding(REFUSED.code, "error", refusal.key, f"verl refuses it: {refusal.words}", _where(refusal))


def _where(refusal: Refusal) -> str:
    return f"see {refusal.source} of the installed verl" if refusal.source else ""


def _each_once(found: Iterator[Finding]) -> Iterator[Finding]:
    seen: set[tuple[str, str, str]] = set()
    for one in found:
        what = one.code, one.key, one.message
        if what not in seen:
            seen.add(what)
            yield one
