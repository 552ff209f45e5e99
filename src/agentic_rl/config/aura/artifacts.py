"""What models, data and the machine say: read by the readers of `config.artifacts`, told by keys of this format."""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from agentic_rl.config.artifacts import READERS, Reader, Request, checkpoints, machine, model, tasks
from agentic_rl.config.aura.rules.facts import AGENT_LIMITS, WatchedFacts, native_nodes, trainings
from agentic_rl.config.aura.rules.flat_names import SAME
from agentic_rl.config.aura.rules.machine import BUSY, own_ports
from agentic_rl.config.diagnostics import Finding
from agentic_rl.config.ports import why_not_bound
from agentic_rl.config.secure_paths import CheckedPath

_READERS = (model.read, tasks.read, checkpoints.read)
_DEVICES = {"npu": "npu", "gpu": "gpu", "cuda": "gpu", "cpu": "cpu"}


@dataclass
class ReadArtifacts:
    """What was read."""

    facts: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Node of a native configuration -> facts about its files; under the empty name, about the machine."""
    findings: list[Finding] = field(default_factory=list)
    """Findings without a place."""


def read_artifacts(
    facts: WatchedFacts,
    checked: Mapping[str, CheckedPath],
    environ: Mapping[str, str],
    readers: Sequence[Reader] | None = None,
) -> ReadArtifacts:
    """Read the model and the data of each configuration of verl, and what the environment says about devices.

    `readers` stand in the place of `config.artifacts.READERS`, one for each: those of a run over many files remember.
    """
    reading = dict(zip(READERS, READERS if readers is None else readers, strict=True))
    result = ReadArtifacts({"": {BUSY: {port for _, port in own_ports(facts) if in_use(port)}}})
    for node in native_nodes(facts):
        request = _request(facts, node, checked, environ)
        result.facts[node] = {}
        for reader in _READERS:
            part = reading[reader](replace(request, facts=result.facts[node]))
            result.facts[node] |= part.facts
            result.findings += [_renamed(one, node) for one in part.findings]
        result.facts[""] |= reading[machine.read](request).facts
    return result


def in_use(port: int) -> bool:
    """Whether something listens on a port of this machine."""
    error = why_not_bound(port)
    return error is not None and error.errno == errno.EADDRINUSE


def _request(facts: WatchedFacts, node: str, checked: Mapping[str, CheckedPath], environ: Mapping[str, str]) -> Request:
    """The question as the readers understand it."""
    values = {key: facts.get(f"{node}.{native}") for key, native in SAME.items()}
    device = _DEVICES.get(str(facts.get(f"{node}.trainer.device")), "auto")
    values |= {"train_backend": "verl", "device": device}
    agent = next((one.agent for one in trainings(facts) if one.native == node and one.agent), None)
    if agent:
        limits = f"{agent}.{AGENT_LIMITS}"
        values |= {"agent_name": facts.get(f"{limits}.agent_name"), "max_steps": facts.get(f"{limits}.max_steps")}
    there = {key: checked[f"{node}.{native}"] for key, native in SAME.items() if f"{node}.{native}" in checked}
    if "tokenizer_name_or_path" in there and _has_links(there["tokenizer_name_or_path"].path):
        del there["tokenizer_name_or_path"]  # a cache of models is made of links, which the readers do not follow
    return Request(values, there, environ, {})


def _has_links(folder: str) -> bool:
    try:
        with os.scandir(folder) as entries:
            return any(entry.is_symlink() for entry in entries)
    except OSError:
        return True


def _renamed(finding: Finding, node: str) -> Finding:
    native = SAME.get(finding.key)
    return replace(finding, key=f"{node}.{native}") if native else finding
