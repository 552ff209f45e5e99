"""base.conf: the mode of a run, its configurations, and how it is supervised."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import PurePosixPath
from typing import Any, Literal, cast

from agentic_rl.config.aura import cluster_pages as pages
from agentic_rl.config.aura.cluster_text import COMMENT, ClusterText, Line, read_text, text_of
from agentic_rl.config.diagnostics import Finding, Place
from agentic_rl.config.rules import Page

NAME = "base.conf"
WorkMode = Literal["hybrid", "one_step_off", "fully_async"]
MODES: tuple[WorkMode, ...] = ("hybrid", "one_step_off", "fully_async")
LATER_MODES = ("fully_async",)
"""Released since the documentation was written."""

_PAIR = re.compile(r"(?P<indent>\s*)(?P<export>export\s+)?(?P<key>[^=\s]+)(?P<before>\s*)=(?P<after>\s*)(?P<value>.*)")
_ENDINGS = (".yaml", ".yml")
_MOST_DIGITS = 9
BACKENDS = {"verl": "verl", "msrl": "mindspeed_rl"}
"""The word of a start script's name -> the backend that it starts."""


@dataclass(frozen=True)
class BaseConf:
    """What base.conf says, defaults included."""

    work_mode: WorkMode
    """`hybrid`: training and inference share one machine; `one_step_off`: they have machines of their own."""
    train_config_name: str
    """The training YAML, without its ending."""
    infer_config_name: str | None = None
    """The inference YAML, without its ending; not read in hybrid mode."""
    monitor_cmd: str | None = None
    """The start script that the supervisor runs, again after a failure; its name tells the backend."""
    max_retries: int = 100
    """How often the job is started again."""
    clean_old_ckpt: int = 0
    """1: the checkpoint folder is emptied before the first start."""

    @property
    def apart(self) -> bool:
        """Whether training and inference have machines of their own."""
        return self.work_mode != "hybrid"


@dataclass(frozen=True)
class BaseFile:
    """base.conf as far as it could be read."""

    file: str
    conf: BaseConf | None = None
    """None where a value is missing or wrong."""
    findings: list[Finding] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    values: Mapping[str, Any] = field(default_factory=dict)
    """The values that could be read, as meant."""
    places: Mapping[str, Place] = field(default_factory=dict)
    """Where the keys stand that were written."""

    def place(self, key: str) -> Place:
        """Where `key` stands, or where it would: at the beginning of the file."""
        return self.places.get(key, Place(self.file, 1, 1))


def script_name(command: str) -> str:
    """The script of a command such as `bash scripts/start.sh --option`: its file name."""
    words = command.split()
    scripts = [word for word in words if word.endswith(".sh")] or words[:1]
    return PurePosixPath(scripts[0]).name if scripts else ""


def backend_of(command: str) -> str | None:
    """The backend that a start script is for, by its name; None where that tells none, or two."""
    words = re.split(r"[^a-z0-9]+", script_name(command).lower())
    found = [backend for word, backend in BACKENDS.items() if word in words]
    return found[0] if len(found) == 1 else None


def read_base(path: str | os.PathLike[str]) -> BaseFile:
    """Read base.conf. Bad input gives findings, never an exception."""
    return _base(read_text(path))


def parse_base(content: str | bytes, file: str = NAME) -> BaseFile:
    """Read the content of a base.conf; `file` is the name that findings give as its place."""
    return _base(text_of(content, file))


@dataclass(frozen=True)
class _Written:
    """One line of the file, as it is meant."""

    key: str
    value: str
    at: tuple[int, int]
    """Line and column of the key."""
    text: ClusterText

    def report(self, page: Page, message: str, hint: str = "") -> None:
        self.text.add(page, self.key, message, hint, at=self.at)

    def refuse(self, rule: str, hint: str) -> None:
        shown = repr(self.value[:60]) if self.value else "no value"
        self.report(pages.VALUE, f"{shown}; {self.key} is {rule}", hint)


def _base(text: ClusterText) -> BaseFile:
    written = _written(text)
    read = {key: _READERS[key](one) for key, one in written.items()}
    values = {key: value for key, value in read.items() if value is not None}
    if text.readable:
        _check_missing(written, values, text)
    places = {key: Place(text.file, *one.at) for key, one in written.items()}
    broken = any(one.severity == "error" for one in text.findings)
    conf = None if broken else BaseConf(**cast("dict[str, Any]", values))
    return BaseFile(text.file, conf, text.findings, text.lines, values, places)


def _written(text: ClusterText) -> dict[str, _Written]:
    """The known keys of the file; the first of two equal ones."""
    written: dict[str, _Written] = {}
    for line in text.said():
        pair = _PAIR.fullmatch(line.text)
        if pair is None:
            _report_no_pair(line, text)
            continue
        key, at = pair["key"], (line.number, pair.start("key") + 1)
        if key not in _READERS:
            _report_unknown(key, at, text)
        elif key in written:
            lines = f"{written[key].at[0]} and {line.number}"
            message = f"{key} stands on lines {lines}; shell launchers join both values into one"
            text.add(pages.KEY_TWICE, key, message, "put # before one of the lines", at=at)
        else:
            written[key] = _Written(key, _meant(pair, at, text), at, text)
    return written


def _report_no_pair(line: Line, text: ClusterText) -> None:
    said = line.text.strip()
    at = (line.number, len(line.text) - len(line.text.lstrip()) + 1)
    name, colon, value = (part.strip() for part in said.partition(":"))
    message = f"{said[:60]!r} is no KEY=VALUE"
    if colon and name in _READERS:
        text.add(pages.LINE, name, message, f"write {name}={value[:60]}", at=at)
    elif said.startswith("[") and said.endswith("]"):
        text.add(pages.LINE, "", message, "base.conf has no sections; put # before the line", at=at)
    else:
        text.add(pages.LINE, "", message, "write KEY=VALUE, or put # before the line", at=at)


def _report_unknown(key: str, at: tuple[int, int], text: ClusterText) -> None:
    near = get_close_matches(key.lower().replace("-", "_"), _READERS, n=1, cutoff=0.7)
    hint = f"did you mean {near[0]}?" if near else f"remove it; the keys are {', '.join(_READERS)}"
    message = f"there is no key {key[:60]!r} in base.conf; the line has no effect"
    text.add(pages.UNKNOWN_KEY, key[:60], message, hint, at=at)


def _meant(pair: re.Match[str], at: tuple[int, int], text: ClusterText) -> str:
    """The value of a line as it is meant; where a shell launcher would read another one, that is reported."""
    value = COMMENT.sub("", f" {pair['value']}").strip()
    odd = ["spaces around ="] if pair["before"] or pair["after"] else []
    if pair["indent"] or pair["export"]:
        odd.append("something before the key")
    if value != pair["value"]:
        odd.append("a comment behind the value")
    if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"":
        value = value[1:-1].strip()  # shell launchers remove them, too
    if odd:
        message = f"{' and '.join(odd)}: shell launchers do not read {value[:60]!r} here; it is read as meant"
        text.add(pages.SHELL_TEXT, pair["key"], message, f"write {pair['key']}={value[:60]}", at=at)
    return value


def _mode(one: _Written) -> str | None:
    if one.value in LATER_MODES:
        later = f"{one.value} was released after the documentation, which has hybrid and one_step_off"
        one.report(pages.RELEASED, later)
    if one.value in MODES:
        return one.value
    near = get_close_matches(one.value.lower().replace("-", "_"), MODES[:2], n=1, cutoff=0.5)
    hint = f"write {one.key}={near[0]}" if near else "write hybrid for one machine, one_step_off for several"
    one.refuse("hybrid or one_step_off", hint)
    return None


def _name(one: _Written) -> str | None:
    stem = one.value
    for ending in _ENDINGS:
        stem = stem.removesuffix(ending)
    if not stem.strip("./"):
        kind = "training" if one.key == "train_config_name" else "inference"
        one.refuse(f"the name of the {kind} YAML, without .yaml", f"write {one.key}=NAME")
        return None
    if stem != one.value:
        message = f"{one.value[:60]!r}; the name stands without its ending, which launchers append"
        one.report(pages.SUFFIX, message, f"write {one.key}={stem[:60]}")
    return stem


def _command(one: _Written) -> str | None:
    if not one.value:
        hint = f"write {one.key}=start_rl_with_verl_vllm.sh, or remove the line"
        one.refuse("the start script that is watched", hint)
    return one.value or None


def _retries(one: _Written) -> int | None:
    if one.value.isascii() and one.value.isdigit() and len(one.value) <= _MOST_DIGITS:
        return int(one.value)
    one.refuse("a whole number of at least 0", f"write {one.key}=100, the default")
    return None


def _switch(one: _Written) -> int | None:
    if one.value in ("0", "1"):
        return int(one.value)
    one.refuse("0 or 1", "write 1 to empty the checkpoint folder before the first start, otherwise 0")
    return None


_READERS: dict[str, Callable[[_Written], str | int | None]] = {
    "work_mode": _mode,
    "train_config_name": _name,
    "infer_config_name": _name,
    "monitor_cmd": _command,
    "max_retries": _retries,
    "clean_old_ckpt": _switch,
}
KEYS = tuple(_READERS)
"""The keys of base.conf."""


def _check_missing(written: Mapping[str, _Written], values: Mapping[str, str | int], text: ClusterText) -> None:
    for key, hint in (("work_mode", "hybrid or one_step_off"), ("train_config_name", "NAME, a YAML without .yaml")):
        if key not in written and all(one.key != key for one in text.findings):
            text.add(pages.MISSING, key, f"{key} is missing; base.conf needs it", f"write {key}={hint}")
    mode, key = values.get("work_mode"), "infer_config_name"
    if mode == "hybrid" and key in values:
        written[key].report(pages.UNUSED, "not read in hybrid mode")
    elif mode == "one_step_off" and key not in written:
        hint = f"write {key}=NAME, the inference YAML without .yaml"
        message = "work_mode=one_step_off needs an inference configuration"
        text.add(pages.MISSING, key, message, hint, at=written["work_mode"].at)
