"""What plain and tagged scalars mean."""

from __future__ import annotations

import math
from typing import Any

import pytest
import yaml

from agentic_rl.config.source.scalars import resolve, tagged


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e-6", 1e-6),
        ("5e-7", 5e-7),
        ("1E-6", 1e-6),
        ("5E-7", 5e-7),
        ("1e+3", 1000.0),
        ("1e3", 1000.0),
        ("-2e-3", -0.002),
        ("1.0e-6", 1e-6),
        ("1.e3", 1000.0),
        ("1.5e3", 1500.0),
        ("-.5", -0.5),
        ("+.5e1", 5.0),
        ("1_000e-3", 1.0),
    ],
)
def test_numbers_that_people_write_are_floats(text: str, value: float) -> None:
    reading = resolve(text)
    assert type(reading.value) is float
    assert reading == (value, "", "")


NUMBERS = "1 0 -12 +3 1_000 0x1F 0b101 1.5 .5 0.0 1.0e-6 12. -1.5E+3 1_000.5 .inf -.INF"
WORDS = "yes No on OFF true FALSE y n ~ null Null None nUll text"
TEXTS = "0o10 08 1.2.3 + . e5 1e 1e- 0x --1 = << 1,5"


@pytest.mark.parametrize("text", [*NUMBERS.split(), *WORDS.split(), *TEXTS.split(), "", "a b", "1 2"])
def test_everything_else_is_what_pyyaml_reads(text: str) -> None:
    class Loader(yaml.SafeLoader):
        """Without `<<` and `=`, which PyYAML's own constructor refuses as values."""

    Loader.yaml_implicit_resolvers = {
        start: [(tag, regexp) for tag, regexp in resolvers if not tag.endswith((":merge", ":value"))]
        for start, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }
    expected = yaml.load(f"{text}\n", Loader=Loader)
    value = resolve(text).value
    assert (value, type(value)) == (expected, type(expected))
    assert not resolve(text).doubt


def test_nan_is_nan() -> None:
    assert math.isnan(resolve(".nan").value)  # type: ignore[arg-type]


@pytest.mark.parametrize("text", ["2024-05-01", "2001-12-14 21:59:43.10", "1:30", "190:20:30", "1:30.5", "12:30:45"])
def test_dates_and_base_60_numbers_are_text(text: str) -> None:
    assert resolve(text) == (text, "", "")


@pytest.mark.parametrize("text", ["1__0", "1_", "0x_", "0_", "1_.5", "1._5", "0b_"])
def test_misplaced_underscores_make_text(text: str) -> None:
    assert resolve(text) == (text, "", "")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("010", "010 begins with 0: older YAML reads it as the octal number 8, newer YAML as 10"),
        ("-017", "octal number -15, newer YAML as -17"),
        ("1e400", "beyond the largest float"),
        ("-1.5e999", "beyond the largest float"),
        ("1e-400", "would become 0"),
        ("9" * 5000, "is a number of 5000 digits"),
        ("0x" + "f" * 5000, "is a number of 5002 digits"),
    ],
)
def test_what_can_be_read_in_two_ways_is_a_doubt(text: str, told: str) -> None:
    reading = resolve(text)
    assert told in reading.doubt
    assert reading.remedy


@pytest.mark.parametrize(("text", "value"), [("007", 7), ("00", 0), ("-01", -1), ("0e5", 0.0), ("0.0e-999", 0.0)])
def test_no_doubt_where_both_readings_agree(text: str, value: float) -> None:
    assert resolve(text) == (value, "", "")


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [("str", "1", "1"), ("int", "3", 3), ("float", "3", 3.0), ("bool", "yes", True), ("null", "", None)],
)
def test_explicit_tags_of_yaml_are_obeyed(kind: str, text: str, value: Any) -> None:
    found = tagged(kind, text)
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(
    ("kind", "text"), [("int", "x"), ("int", "1.5"), ("bool", "1"), ("null", "x"), ("float", "yes"), ("int", "yes")]
)
def test_a_tag_that_the_text_does_not_fit_is_refused(kind: str, text: str) -> None:
    with pytest.raises(ValueError, match=f"is not of the kind !!{kind}"):
        tagged(kind, text)
