"""What rules about registered names share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from difflib import get_close_matches

from agentic_rl.config.diagnostics import Severity
from agentic_rl.config.fields.wording import show
from agentic_rl.config.rules import Facts, Problem
from agentic_rl.config.verl_native.native_rules.facts import MODEL


def unknown_name(facts: Facts, key: str, family: str, what: str, consequence: str) -> Iterator[Problem]:
    """A problem where the value of `key` is none of the names that the installed verl registers.

    A library of the user's own may register more: then it is a warning. It is named by `model.external_lib`, and
    imported in the workers only, or by VERL_USE_EXTERNAL_MODULES.
    """
    value, names = facts[key], facts[f"@verl.{family}"]
    if isinstance(value, str) and value in names:
        return
    own = facts.get(f"{MODEL}.external_lib") or facts.get("@verl.modules")
    severity: Severity | None = "warning" if own else None
    yield Problem(key, f"verl has no {what} {show(value)}; {consequence}", offered(value, names), severity)


def offered(value: object, names: Iterable[str]) -> str:
    """The names to choose from, the nearest first."""
    listed = sorted(names)
    near = get_close_matches(str(value), listed, 1, 0.7)
    return f"one of {', '.join([*near, *(name for name in listed if name not in near)])}"
