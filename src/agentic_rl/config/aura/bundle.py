"""hosts.conf, base.conf and the YAML files that it names: read together, and compared with each other."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from agentic_rl.config.aura import base_conf, cluster_pages, hosts
from agentic_rl.config.aura.base_conf import BaseConf, BaseFile, read_base
from agentic_rl.config.aura.bundle_rules import RULES
from agentic_rl.config.aura.hosts import HostsFile, read_hosts
from agentic_rl.config.aura.inference import InferenceFile, is_inference, read_inference
from agentic_rl.config.diagnostics import Finding, Place, Report
from agentic_rl.config.formats import detect
from agentic_rl.config.load import Loaded, load
from agentic_rl.config.rules import Facts, Page, Problem, run
from agentic_rl.config.source import Document

NAMES = (hosts.NAME, base_conf.NAME)
"""The files by which a set is known."""
FOLDERS = {"train_config_name": "train", "infer_config_name": "infer"}
"""Key of base.conf -> the folder below its own where the YAML may be."""
_ENDINGS = (".yaml", ".yml")
_ROW = re.compile(r"hosts\[(\d+)\]\.(\w+)")
StrPath = str | os.PathLike[str]


@dataclass(frozen=True)
class Bundle:
    """A set of files, each as far as it could be read."""

    folder: Path
    """Where base.conf is, or hosts.conf."""
    hosts: HostsFile | None = None
    """None where there is no such file, as with the others."""
    base: BaseFile | None = None
    train: Loaded | None = None
    inference: InferenceFile | None = None
    report: Report = field(default_factory=Report)
    """Everything that is wrong with the files, and between them."""

    @property
    def files(self) -> list[str]:
        """The files that were read."""
        parts = (self.hosts, self.base, self.inference)
        named = [part.file for part in parts if part]
        return [*named, self.train.document.file] if self.train else named


def set_of(path: StrPath) -> Path | None:
    """The folder of the set that a folder, or the file hosts.conf or base.conf, belongs to; None if it is of none."""
    path = Path(path)
    if path.name in NAMES and not _is_folder(path):
        return path.parent
    return path if _is_folder(path) and any(_is_file(path / name) for name in NAMES) else None


def naming_set(path: StrPath) -> Path | None:
    """The folder of the set whose base.conf names the YAML file `path`; None if there is none."""
    path = Path(path)
    for folder in (path.parent, path.absolute().parent.parent):
        if _is_file(folder / base_conf.NAME):
            values = read_base(folder / base_conf.NAME).values
            named = (find_config(folder, key, str(values[key])) for key in FOLDERS if key in values)
            if any(one and _same(one, path) for one in named):
                return folder
    return None


def in_set(document: Document) -> bool:
    """Whether a YAML file may be one that a base.conf names: of the instances format, or an inference YAML."""
    return is_inference(document.tree) or detect(document.tree) == "aura"


def find_config(folder: Path, key: str, name: str) -> Path | None:
    """The YAML file that base.conf in `folder` names `name` under `key`; None where there is none."""
    for place in (folder, folder / FOLDERS[key]):
        for ending in _ENDINGS:
            if _is_file(place / f"{name}{ending}"):
                return place / f"{name}{ending}"
    return None


def load_bundle(
    path: StrPath,
    overrides: Sequence[str] = (),
    *,
    files: bool = True,
    environ: Mapping[str, str] | None = None,
    device_memory: int | None = None,
    hosts_path: StrPath | None = None,
    base_path: StrPath | None = None,
) -> Bundle:
    """Read a set and check it. Bad input gives findings, never an exception.

    Args:
        path: The folder of the set, or one of its files.
        overrides: `key=value` each, for the training YAML.
        files: Look at the files that the configurations name.
        environ: The environment; the process's own where it is left out.
        device_memory: Bytes of one device.
        hosts_path: hosts.conf, where it is not beside base.conf.
        base_path: base.conf, where it is not below `path`.
    """
    folder = Path(base_path).parent if base_path else set_of(path) or naming_set(path) or _own_folder(Path(path))
    findings: list[Finding] = []
    host_file = _read(hosts_path or folder / hosts.NAME, read_hosts, named=hosts_path is not None)
    base_file = _read(base_path or folder / base_conf.NAME, read_base, named=base_path is not None)
    train = inference = None
    if base_file:
        found = _find(folder, base_file, "train_config_name", findings)
        if found:
            train = load(found, overrides, files=files, environ=environ, device_memory=device_memory)
        if base_file.values.get("work_mode") != "hybrid":
            found = _find(folder, base_file, "infer_config_name", findings)
            inference = read_inference(found, files=files) if found else None
    bundle = Bundle(folder, host_file, base_file, train, inference)
    return _reported(bundle, findings)


def _read(path: StrPath, reader: Any, *, named: bool) -> Any:
    return reader(path) if named or _is_file(Path(path)) else None


def _find(folder: Path, base: BaseFile, key: str, findings: list[Finding]) -> Path | None:
    name = base.values.get(key)
    found = find_config(folder, key, name) if isinstance(name, str) else None
    if found is None and isinstance(name, str):
        present = sorted(_configurations(folder, key))
        near = get_close_matches(name, present, n=1, cutoff=0.6)
        hint = f"{key}={near[0]}" if near else f"there is {', '.join(present[:5])}" if present else ""
        message = f"there is no {name[:60]}.yaml in {folder} or {folder / FOLDERS[key]}"
        findings.append(_at(base.place(key), cluster_pages.NOT_FOUND, key, message, hint or "write the name of a file"))
    return found


def _configurations(folder: Path, key: str) -> Iterator[str]:
    places = [place for place in (folder, folder / FOLDERS[key]) if _is_folder(place)]
    with contextlib.suppress(OSError):  # a folder that may not be listed
        yield from (entry.stem for place in places for entry in place.iterdir() if entry.suffix in _ENDINGS)


def _reported(bundle: Bundle, findings: list[Finding]) -> Bundle:
    """The bundle with its report: of every file, and of the relations between them."""
    train, base = bundle.train, bundle.base
    if train and base and train.format != "aura" and train.document.whole:
        message = f"{train.document.file} is no configuration of the instances format"
        hint = "name one with agentic_ai and train_instances"
        key = "train_config_name"
        findings.append(_at(base.place(key), cluster_pages.OTHER_FORMAT, key, message, hint))
    one = bundle.hosts or base
    if not one:
        message = "there is neither a hosts.conf nor a base.conf"
        hint = "name the folder that holds them; agentic-rl init instances DIR writes both"
        findings.append(_at(Place(str(bundle.folder)), cluster_pages.NO_SET, "", message, hint))
    elif not (bundle.hosts and base):
        other = base_conf.NAME if bundle.hosts else hosts.NAME
        message = f"there is no {other} beside it, so that the two are not compared"
        findings.append(_at(Place(one.file, 1, 1), cluster_pages.ALONE, "", message, ""))
    parts = [part for part in (bundle.hosts, base, bundle.inference) if part]
    report = Report([finding for part in parts for finding in part.findings])
    report.sources.update({part.file: part.lines for part in (bundle.hosts, base) if part})
    if bundle.inference:
        report.sources[bundle.inference.file] = bundle.inference.document.lines
    if train:
        report.extend(train.report.findings)
        report.sources.update(train.report.sources)
    report.extend([*findings, *_relations(bundle)])
    return Bundle(bundle.folder, bundle.hosts, base, train, bundle.inference, report)


def _relations(bundle: Bundle) -> Iterator[Finding]:
    for one, problem in run(RULES, _facts(bundle)):
        place, key = _place(bundle, problem)
        finding = _at(place, one.page, key, problem.message + _brought(bundle, problem), problem.hint)
        yield replace(finding, severity=problem.severity or finding.severity)


def _facts(bundle: Bundle) -> Facts:
    """What the files say, as far as it could be read."""
    values: dict[str, Any] = {}
    written: set[str] = set()
    if bundle.hosts and bundle.hosts.sound:
        values["hosts"] = bundle.hosts
    if bundle.base:
        defaults = {name: getattr(BaseConf, name) for name in ("max_retries", "clean_old_ckpt")}
        values |= {f"base.{key}": value for key, value in {**defaults, **bundle.base.values}.items()}
        written |= {f"base.{key}" for key in bundle.base.values}
    if bundle.train and bundle.train.format == "aura":
        values |= {f"train.{key}": value for key, value in bundle.train.values.items()}
        written |= {f"train.{key}" for key in bundle.train.sources}
    if bundle.inference:
        values |= {f"infer.{key}": value for key, value in bundle.inference.values.items()}
    return Facts(values, written)


def _place(bundle: Bundle, problem: Problem) -> tuple[Place, str]:
    """Where a problem stands, and its key there."""
    row = _ROW.fullmatch(problem.key)
    if row and bundle.hosts:
        node = bundle.hosts.nodes[int(row[1])]
        return Place(bundle.hosts.file, node.line, node.column(row[2])), row[2]
    part, _, key = problem.key.partition(".")
    if part == "base" and bundle.base:
        return bundle.base.place(key), key
    if part == "infer" and bundle.inference:
        return bundle.inference.place(key), key
    if bundle.train:
        return _place_in(bundle.train, key), key
    return Place(""), key


def _place_in(train: Loaded, key: str) -> Place:
    """Where a key of the training YAML stands, else its section; the first line where neither is written."""
    place_of = train.composed.place_of if train.composed else train.document.places.get
    while key:
        place = place_of(key)
        if place:
            return place
        key = key.rpartition(".")[0]
    return Place(train.document.file, 1, 1)


def _brought(bundle: Bundle, problem: Problem) -> str:
    """Which template a value is from, if it is from one."""
    part, _, key = problem.key.partition(".")
    composed = bundle.train.composed if bundle.train and part == "train" else None
    origin = composed.origins.get(key) if composed else None
    return f" (from the template {origin.name})" if origin and origin.kind == "template" else ""


def _at(place: Place, page: Page, key: str, message: str, hint: str) -> Finding:
    return Finding(page.code, page.severity, key, message, hint, place.file, place.line, place.column)


def _same(one: Path, other: Path) -> bool:
    return os.path.realpath(one) == os.path.realpath(other)


def _own_folder(path: Path) -> Path:
    return path if _is_folder(path) else path.parent


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # a name that no file can have
        return False


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False
