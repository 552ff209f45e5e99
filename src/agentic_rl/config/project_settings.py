"""What `[tool.agentic-rl]` of a `pyproject.toml` chooses for the configurations below its folder."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from agentic_rl.config.diagnostics import Finding, Severity
from agentic_rl.config.rules import describe
from agentic_rl.config.selection import Choice, codes
from agentic_rl.config.source.text import UnreadableError, read_bytes

SETTING = describe(
    "ARL019",
    "Setting of the project that can't be read",
    "error",
    """
`[tool.agentic-rl]` in the nearest `pyproject.toml` above a configuration may hold `select` and `ignore` (lists of
codes, or of their beginnings) and `severity` (a table of them: `severity = {ARL211 = "note"}`). They change what
`agentic-rl check` shows, not what training refuses: an error can be brought down to a warning, not lower.
""",
)
Known = Callable[[], Collection[str]]
"""Every code that a rule has; asked only where a project has settings."""
_NAME, _TABLE = "pyproject.toml", "agentic-rl"
_SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")
_KEYS = ("select", "ignore", "severity")


@dataclass(frozen=True)
class Settings:
    """The choice of one project, and what is wrong with it."""

    choice: Choice = field(default_factory=Choice)
    findings: tuple[Finding, ...] = ()


@dataclass
class ProjectSettings:
    """The settings for each folder; every `pyproject.toml` is read once."""

    known: Known
    _read: dict[Path, Settings | None] = field(default_factory=dict)

    def of(self, file: str) -> Settings:
        """The settings of the nearest folder above `file` that has some."""
        for folder in Path(os.path.abspath(file)).parents:  # noqa: PTH100 - resolve() would follow links
            if folder not in self._read:
                self._read[folder] = _settings_in(folder / _NAME, self.known)
            found = self._read[folder]
            if found is not None:
                return found
        return Settings()


def _settings_in(path: Path, known: Known) -> Settings | None:
    try:
        if not path.is_file():
            return None
        content = read_bytes(str(path))
    except (OSError, UnreadableError):
        return None  # another's file, which does not concern us
    if _TABLE.encode() not in content:
        return None
    try:
        table = _parse(content.decode("utf-8")).get("tool", {}).get(_TABLE)
    except (ValueError, AttributeError) as error:  # TOMLDecodeError and UnicodeDecodeError are ValueErrors
        return Settings(findings=(_finding(path, "", f"not valid TOML: {error}"),))
    return None if table is None else _Reader(path, known()).settings(table)


def _parse(text: str) -> dict[str, Any]:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    table: dict[str, Any] = tomllib.loads(text)
    return table


class _Reader:
    """Reads one table; what it can't read it reports and leaves out."""

    def __init__(self, path: Path, known: Collection[str]) -> None:
        self._path, self._known = path, known
        self._findings: list[Finding] = []

    def settings(self, table: Any) -> Settings:
        """The settings in `table`."""
        if not isinstance(table, Mapping):
            return Settings(findings=(_finding(self._path, "", "must be a table"),))
        for key in table.keys() - set(_KEYS):
            near = get_close_matches(key, _KEYS, n=1)
            self._report(key, "no such setting", f"did you mean {near[0]}?" if near else f"one of {', '.join(_KEYS)}")
        choice = Choice(
            self._codes("select", table.get("select", [])),
            self._codes("ignore", table.get("ignore", [])),
            self._severity(table.get("severity", {})),
        )
        return Settings(choice, tuple(self._findings))

    def _codes(self, key: str, value: Any) -> tuple[str, ...]:
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            self._report(key, "must be a list of codes", f'{key} = ["ARL211", "ARL5"]')
            return ()
        try:
            return codes(value, self._known)
        except ValueError as error:
            self._report(key, str(error))
            return ()

    def _severity(self, value: Any) -> dict[str, Severity]:
        if not isinstance(value, Mapping):
            self._report("severity", "must be a table of codes", 'severity = {ARL211 = "note"}')
            return {}
        chosen: dict[str, Severity] = {}
        for code, severity in value.items():
            meant = next((one for one in _SEVERITIES if one == severity), None)
            if meant is None:
                self._report(f"severity.{code}", f"{severity!r} is no severity", f"one of {', '.join(_SEVERITIES)}")
                continue
            for one in self._codes(f"severity.{code}", [code]):
                chosen[one] = meant
        return chosen

    def _report(self, key: str, message: str, hint: str = "") -> None:
        self._findings.append(_finding(self._path, key, message, hint))


def _finding(path: Path, key: str, message: str, hint: str = "") -> Finding:
    name = f"tool.{_TABLE}.{key}" if key else f"tool.{_TABLE}"
    return Finding(SETTING.code, SETTING.severity, name, message, hint, str(path))
