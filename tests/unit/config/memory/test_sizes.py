from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentic_rl.config.memory.sizes import parse_size, show_count, show_size


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("64GiB", 64 << 30),
        ("64 gib", 64 << 30),
        ("64G", 64 << 30),
        ("80GB", 80 << 30),
        ("1.5TiB", 3 << 39),
        ("512", 512),
        ("512b", 512),
        ("8192MiB", 8 << 30),
    ],
)
def test_sizes_are_read_as_people_write_them(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize(
    "text", ["", "GiB", "64 cards", "-1", "0", "64GiB64GiB", "1e9", "inf", "64,5GiB", "9" * 400, "\u0664GiB"]
)
def test_what_is_no_size_is_refused_with_the_remedy(text: str) -> None:
    with pytest.raises(ValueError, match="write 64GiB, 80GB or a number of bytes"):
        parse_size(text)


@pytest.mark.parametrize(
    ("size", "shown"),
    [
        (0, "0 bytes"),
        (999, "999 bytes"),
        (64 << 30, "64 GiB"),
        (1_023_488, "0.976 MiB"),
        (3 << 20, "3 MiB"),
        (5 << 40, "5 TiB"),
    ],
)
def test_sizes_are_shown_with_binary_units(size: int, shown: str) -> None:
    assert show_size(size) == shown


@given(st.integers(min_value=1, max_value=10**18))
def test_what_is_shown_reads_back_within_its_three_digits(size: int) -> None:
    assert parse_size(show_size(size).replace("bytes", "").replace(",", "")) == pytest.approx(size, rel=6e-3, abs=0.5)


def test_counts_are_words_from_a_million_on() -> None:
    assert [show_count(number) for number in (12_345, 1_720_000_000, 28_300_000)] == [
        "12,345",
        "1.72 billion",
        "28.3 million",
    ]
