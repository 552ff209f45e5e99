from __future__ import annotations

import pytest

from agentic_rl.agents.docstring import describe


@pytest.mark.parametrize(
    ("docstring", "summary", "arguments"),
    [
        (None, "", {}),
        ("One line.", "One line.", {}),
        ("Two\n    lines.\n", "Two lines.", {}),
        ("S.\n\n  Args:\n    a: first: with a colon\n    b (int): 2\n", "S.", {"a": "first: with a colon", "b": "2"}),
        ("S.\n\n  Args:\n    a: text\n      goes: on\n    *rest: more\n", "S.", {"a": "text goes: on", "rest": "more"}),
        ("S.\n\n  Returns:\n    x: not an argument\n", "S.", {}),
        ("S.\n\n  Args:\n    a:\n      below\n\n  Raises:\n    b: no\n", "S.", {"a": "below"}),
    ],
)
def test_google_style_docstrings(docstring: str | None, summary: str, arguments: dict[str, str]) -> None:
    assert describe(docstring) == (summary, arguments)
