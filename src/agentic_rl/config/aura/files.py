"""The files and folders that a file of the instances format names: they have to be there (ARL300, ARL308, ARL315)."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from stat import S_ISDIR, S_ISREG, S_IWOTH
from typing import Any, Literal

from agentic_rl.config.artifacts import Reader
from agentic_rl.config.aura.artifacts import read_artifacts
from agentic_rl.config.aura.places import ComposedTree, PlacedFindings
from agentic_rl.config.aura.rules.facts import AGENT_LIMITS, ENGINE, WatchedFacts, items, native_nodes
from agentic_rl.config.aura.rules.registry import broken_relations, facts_of
from agentic_rl.config.aura.validation import Validated
from agentic_rl.config.diagnostics import Finding, Severity
from agentic_rl.config.rules import describe
from agentic_rl.config.secure_paths import CheckedPath
from agentic_rl.config.secure_paths.pages import KIND, MISSING

Kind = Literal["file", "folder", "any"]

LOG_FOLDER = describe(
    "ARL315",
    "Folder that can't be written, or that everybody can write",
    "error",
    "`log_dir` is an existing folder with write permission. One that every user of the machine can write (mode 777, or "
    "1777 as `/tmp`) is a warning: others can put files in the place of logs. A folder for trajectories that can't be "
    "written is an error as well.",
)
NOT_PARQUET = describe(
    "ARL316",
    "Data file that is not named .parquet",
    "error",
    "`train_files` and `val_files` of the instances format are parquet files, and end so.",
)


@dataclass
class LookedAt:
    """What the files of a configuration are worth."""

    findings: list[Finding] = field(default_factory=list)
    checked: dict[str, CheckedPath] = field(default_factory=dict)
    """Dotted key -> the file or folder that is there, to be opened later as the same one."""
    facts: dict[str, Any] = field(default_factory=dict)
    """What files and the machine say, by names that begin with `@`; of the first configuration of verl."""


def look_at_files(
    validated: Validated,
    composed: ComposedTree,
    environ: Mapping[str, str],
    readers: Sequence[Reader] | None = None,
) -> LookedAt:
    """Check that what the values name is there, read it, and relate it to the values. Modes are not judged here."""
    facts = facts_of(validated.values, composed, validated.written_as)
    findings = PlacedFindings(composed, validated.written_as)
    checked = dict(_present(facts, findings))
    _check_folders(facts, findings)
    read = read_artifacts(facts, checked, environ, readers)
    for one in read.findings:
        findings.add_as(one)
    for rule, problem in broken_relations(validated.values, composed, validated.written_as, read.facts):
        findings.add(rule.page, problem.key, problem.message, problem.hint, problem.severity)
    first = next((read.facts[node] for node in native_nodes(facts) if node in read.facts), {})
    return LookedAt(findings.items, checked, {**first, **read.facts.get("", {})})


def _present(facts: WatchedFacts, findings: PlacedFindings) -> Iterator[tuple[str, CheckedPath]]:
    """What is there; the rest is reported, each path once."""
    seen: dict[tuple[str, Kind], CheckedPath | None] = {}
    for key, path, kind in _paths(facts):
        told = seen.get((path, kind))
        if (path, kind) not in seen:
            told = seen[path, kind] = _look(key, path, kind, findings)
        if told is not None:
            yield key, told


def _paths(facts: WatchedFacts) -> Iterator[tuple[str, str, Kind]]:
    named: list[tuple[str, Kind]] = []
    for node in native_nodes(facts):
        named.append((f"{node}.actor_rollout_ref.model.path", "folder"))
        named += [(f"{node}.data.{name}", "file") for name in ("train_files", "val_files")]
    named += [(f"{one}.{AGENT_LIMITS}.tokenizer", "any") for one in items(facts, "agent_instances")]
    named += [(f"{one}.{ENGINE}.model", "any") for one in items(facts, "infer_instances")]
    for key, kind in named:
        value = facts.get(key)
        own_model = key.endswith(f"{ENGINE}.model") and "/" not in str(value)[:2]  # a name of a hub is no path
        if isinstance(value, str) and value not in ("", "???") and "://" not in value and not own_model:
            yield key, value, kind


def _look(key: str, path: str, kind: Kind, findings: PlacedFindings) -> CheckedPath | None:
    if kind == "file" and not path.endswith(".parquet"):
        findings.add(NOT_PARQUET, key, f"{path} does not end in .parquet", "a parquet file")
        return None
    try:
        real = os.path.realpath(path)
        status = Path(real).stat()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        findings.add(MISSING, key, f"{path}: {reason}", f"the {'file' if kind == 'file' else 'folder'} that is there")
        return None
    if not ((kind != "folder" and S_ISREG(status.st_mode)) or (kind != "file" and S_ISDIR(status.st_mode))):
        findings.add(KIND, key, f"{path} is no {kind if kind != 'any' else 'folder'}", f"the path of a {kind}")
        return None
    return CheckedPath.of(real, status)


def _check_folders(facts: WatchedFacts, findings: PlacedFindings) -> None:
    key = "agentic_ai.log_dir"
    folder = facts.get(key)
    if isinstance(folder, str):
        problem = _log_folder(folder)
        if problem:
            findings.add(LOG_FOLDER, key, *problem)
    for one in items(facts, "agent_instances"):
        key = f"{one}.executor_kwargs.trajectory_save_dir"
        path = facts.get(key)
        if isinstance(path, str):
            above = _first_there(Path(path))
            if not os.access(above, os.W_OK):
                message = f"{path} can't be made: {above} is not writable"
                findings.add(LOG_FOLDER, key, message, "a folder of yours", "warning")


def _log_folder(folder: str) -> tuple[str, str, Severity] | None:
    try:
        mode = Path(folder).stat().st_mode
    except (OSError, ValueError) as error:
        return f"{folder}: {getattr(error, 'strerror', None) or error}", f"mkdir -p -m 750 {folder}", "error"
    if not S_ISDIR(mode):
        return f"{folder} is no folder", "an existing folder", "error"
    if not os.access(folder, os.W_OK | os.X_OK):
        return f"{folder} can't be written by this user", "a folder of yours", "error"
    if mode & S_IWOTH:
        return f"every user of this machine can write {folder}", "a folder of yours, with mode 750", "warning"
    return None


def _first_there(path: Path) -> Path:
    """The path itself, else the nearest folder above it that is there."""
    return next((one for one in (path, *path.absolute().parents) if one.exists()), Path("/"))
