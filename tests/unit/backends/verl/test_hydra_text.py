from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentic_rl.backends.verl.hydra_text import hydra_text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"),
        (True, "true"),
        (3, "3"),
        (1e-06, "1e-06"),
        (["model", "extra"], "[model,extra]"),
        ("/data/train.parquet", "/data/train.parquet"),
        ("true", "'true'"),
        ("12", "'12'"),
        ("", "''"),
        ("it's", r"'it\'s'"),
        ("a b", "'a b'"),
        ("back\\", "'back\\\\'"),
    ],
)
def test_values(value: Any, text: str) -> None:
    assert hydra_text(value) == text


VALUES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(st.characters(exclude_categories=["C"]))
)


@given(VALUES | st.lists(VALUES))
def test_hydra_reads_what_was_written(value: Any) -> None:
    parser = pytest.importorskip("hydra.core.override_parser.overrides_parser").OverridesParser.create()
    read = parser.parse_override(f"key={hydra_text(value)}").value()
    assert plain(read) == value
    assert type(plain(read)) is type(value)


def plain(value: Any) -> Any:
    """Hydra marks text that was quoted."""
    if isinstance(value, list):
        return [plain(item) for item in value]
    return value.text if hasattr(value, "text") else value
