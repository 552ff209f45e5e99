"""Every code is drawn by a test: by the example on its page, or by something that provokes it for real."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from agentic_rl.cli.pages import all_pages
from agentic_rl.config.rule_examples import example_of
from instances_provocations import PROVOKED as PROVOKED_BY_INSTANCES
from provocations import PROVOKED as PROVOKED_BY_FLAT
from provocations import nothing
from services_provocations import PROVOKED as PROVOKED_BY_SERVICES

PROVOKED = {**PROVOKED_BY_FLAT, **PROVOKED_BY_INSTANCES, **PROVOKED_BY_SERVICES}
TESTS = Path(__file__).parents[1]

NATIVE = Path(__file__).parents[2] / "data" / "verl" / "native_rules.yaml"
OF_VERL = frozenset(f"ARL{number}" for number in range(510, 556))
"""What is said of verl's own configuration and installation: drawn by the tests of that room, beside a verl."""
OF_SERVICES = frozenset(f"ARL{number}" for number in range(702, 710)) - PROVOKED.keys()
"""What is said of an instance that can't be served: drawn by the tests of that room."""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """The folder that stands for the user's own."""
    return tmp_path.resolve()


@pytest.mark.parametrize("code", PROVOKED)
def test_what_provokes_a_code_draws_it(code: str, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert code in PROVOKED[code](home, monkeypatch)


def test_unprovoked_none_of_them_is_drawn(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert nothing(home, monkeypatch).isdisjoint(PROVOKED)


def test_every_code_is_drawn_by_its_example_or_by_what_provokes_it() -> None:
    drawn_by_example = {code for code in all_pages() if example_of(code)}  # test_rule_examples draws each of them
    assert drawn_by_example.isdisjoint(PROVOKED)
    lacking = all_pages().keys() - drawn_by_example - PROVOKED.keys()
    assert {code for code in lacking if code not in OF_VERL | OF_SERVICES} == set()


def test_the_tests_of_services_name_the_codes_that_are_left_to_them() -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in sorted((TESTS / "serve").glob("test_*.py")))
    assert [code for code in sorted(OF_SERVICES) if f'"{code}"' not in text] == []


def test_every_rule_about_a_composed_configuration_is_drawn_by_a_native_example() -> None:
    native = {case["finding"].split()[1] for case in yaml.safe_load(NATIVE.read_text())}  # drawn by test_native_rules
    assert {code for code in all_pages() if "ARL519" <= code <= "ARL549"} == native
