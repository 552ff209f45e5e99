from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentic_rl.view import searching
from agentic_rl.view.index import Index
from agentic_rl.view.searching import search
from view_doubles import rollout, write_lines


def said(text: str, step: int = 1) -> dict[str, object]:
    return rollout(step, messages=[{"role": "user", "content": text}])


def found(path: Path, text: str) -> list[int]:
    index = Index(path)
    index.refresh()
    return list(search(index, text, 0)["hits"])


@pytest.mark.parametrize(
    ("wanted", "rows"),
    [
        ("APPLE", [0]),
        ("é", [1]),
        ("É", [1]),
        ('say "no"', [2]),
        ("a\nb", [2]),
        ("role", []),
        ("prompt_tokens", []),
        ("\ud800", [3]),
        ("traceback", [4]),
        ("{", [2]),
        ("", [0, 1, 2, 3, 4]),
    ],
)
def test_what_is_found(tmp_path: Path, wanted: str, rows: list[int]) -> None:
    texts = ["An apple", "café", 'say "no" to {a\nb', "\ud800"]
    records = [*[said(text, step) for step, text in enumerate(texts)], {**said("x", 9), "error": "Traceback: z"}]
    assert found(write_lines(tmp_path / "lines", records), wanted) == rows


@given(text=st.text(max_size=20), before=st.text(max_size=5))
def test_a_text_that_is_there_is_found(tmp_path_factory: pytest.TempPathFactory, text: str, before: str) -> None:
    path = write_lines(tmp_path_factory.mktemp("search") / "lines", [said(before + text)])
    assert found(path, text) == [0]


def test_a_search_goes_on_where_its_time_was_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    index = Index(write_lines(tmp_path / "lines", [said("apple", step) for step in range(200)]))
    index.refresh()
    monkeypatch.setattr(searching, "SECONDS", -1)
    assert search(index, "apple", 7) == {"hits": list(range(7, 71)), "next": 71, "generation": 0}
    monkeypatch.setattr(searching, "SECONDS", 60)
    assert search(index, "apple", 150) == {"hits": list(range(150, 200)), "next": None, "generation": 0}
