"""The registry of rules: pages, skipping of rules whose facts are missing."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from agentic_rl.config import rules
from agentic_rl.config.rules import Facts, Problem, Rule, describe, rule, run


@pytest.fixture(autouse=True)
def _own_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rules, "PAGES", {})


def larger_than_b(registry: list[Rule]) -> None:
    @rule(registry, "ARL999", "a above b", "error")
    def check(facts: Facts) -> Iterator[Problem]:
        """Why a may not be above b."""
        if facts["a"] > facts["b"]:
            yield Problem("a", f"{facts['a']} is above {facts['b']}", "a: 1")


def test_a_rule_is_registered_with_its_docstring_as_page() -> None:
    registry: list[Rule] = []
    larger_than_b(registry)
    assert rules.PAGES["ARL999"] == registry[0].page
    assert registry[0].page.text == "Why a may not be above b."


def test_a_rule_reports_what_it_finds_and_nothing_else() -> None:
    registry: list[Rule] = []
    larger_than_b(registry)
    assert [problem.key for _, problem in run(registry, Facts({"a": 2, "b": 1}, ["a"]))] == ["a"]
    assert list(run(registry, Facts({"a": 1, "b": 1}, ["a"]))) == []


def test_a_rule_whose_facts_are_missing_is_skipped() -> None:
    registry: list[Rule] = []
    larger_than_b(registry)
    assert list(run(registry, Facts({"a": 2}, ["a"]))) == []


def test_facts_know_what_was_written() -> None:
    facts = Facts({"a": 1, "b": 2}, ["a"])
    assert facts.wrote("a")
    assert not facts.wrote("b")
    assert facts.get("c", 3) == 3


def test_one_code_has_one_page() -> None:
    describe("ARL998", "one", "error", "text")
    with pytest.raises(ValueError, match="ARL998 is described twice: 'one' and 'two'"):
        describe("ARL998", "two", "error", "text")
