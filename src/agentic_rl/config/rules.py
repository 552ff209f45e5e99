"""The registry of numbered rules. A rule is one small function with a page of its own.

Relations between keys are functions over `Facts`: the values that did validate, defaults included. A rule that
reads a value which is missing or broken is skipped, so that one mistake is reported once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from inspect import cleandoc
from typing import Any

from agentic_rl.config.diagnostics import Severity


@dataclass(frozen=True)
class Page:
    """What `agentic-rl explain CODE` prints about one code."""

    code: str
    title: str
    severity: Severity
    text: str
    """Why the rule exists and what to do, in a few sentences of Markdown."""


@dataclass(frozen=True)
class Problem:
    """What a rule found; the runner adds code, severity (unless given here) and place."""

    key: str
    message: str
    hint: str = ""
    severity: Severity | None = None


DEVICE_MEMORY = "@machine.device_memory"
"""The fact that is given by who asks for a check: the bytes of one device."""


class MissingFactError(LookupError):
    """A rule asked for a value that is absent or did not validate; the rule is skipped."""


class Facts:
    """The values of a configuration that did validate, by dotted key."""

    def __init__(
        self, values: Mapping[str, Any], written: Iterable[str], overridden: Mapping[str, str] | None = None
    ) -> None:
        self._values = values
        self.written = frozenset(written)
        """The dotted keys that a person wrote (in the file, on the command line, in the environment)."""
        self.overridden = overridden or {}
        """Of these, the ones that were not set in the file: `command line` or `environment`."""

    def __getitem__(self, key: str) -> Any:
        try:
            return self._values[key]
        except KeyError:
            raise MissingFactError(key) from None

    def get(self, key: str, default: Any = None) -> Any:
        """The value of `key`, or `default` where it is absent or broken."""
        return self._values.get(key, default)

    def wrote(self, key: str) -> bool:
        """Whether a person wrote `key`; otherwise its value is the documented default."""
        return key in self.written


Check = Callable[[Facts], Iterable[Problem]]

PAGES: dict[str, Page] = {}
"""Every code with its page, filled when the modules that own the codes are imported."""


@dataclass(frozen=True)
class Rule:
    """A numbered relation between keys."""

    page: Page
    check: Check


def describe(code: str, title: str, severity: Severity, text: str) -> Page:
    """Register the page of `code` (for findings that readers and schemas make themselves).

    Raises:
        ValueError: two pages for one code.
    """
    if code in PAGES:
        raise ValueError(f"{code} is described twice: {PAGES[code].title!r} and {title!r}")
    PAGES[code] = page = Page(code, title, severity, text)
    return page


def rule(registry: list[Rule], code: str, title: str, severity: Severity) -> Callable[[Check], Check]:
    """Register a rule function; its docstring is the text of its page."""

    def register(check: Check) -> Check:
        registry.append(Rule(describe(code, title, severity, cleandoc(check.__doc__ or "")), check))
        return check

    return register


def run(rules: Iterable[Rule], facts: Facts) -> Iterator[tuple[Rule, Problem]]:
    """Apply every rule to `facts`; rules whose facts are missing are skipped."""
    for one in rules:
        try:
            problems = list(one.check(facts))
        except MissingFactError:
            continue
        for problem in problems:
            yield one, problem
