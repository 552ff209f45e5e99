"""Errors of syntax name line, column and the usual cause, with either of PyYAML's parsers."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from agentic_rl.config.source import nodes, parse


@pytest.mark.parametrize("loader", [yaml.SafeLoader, pytest.param(nodes.Loader, id="fastest")])
@pytest.mark.parametrize(
    ("text", "place", "cause"),
    [
        ("a:\n\tb: 1\n", (2, 1), "a tab"),
        ("a: 1\n\tb: 2\n", (2, 1), "a tab"),
        ("v:\n  a: 1\n\tb: 2\n", (3, 1), "a tab"),
        ("a: 1\nlr:1e-6\nb: 2\n", (2, 1), "there is no space after the colon"),
        ("v:\n  lr:1e-6\n  b: 2\n", (2, 3), "there is no space after the colon"),
        ("a: 1\nlr:1e-6\n\n", (2, 1), "there is no space after the colon"),
        ("a: 1\nlr：1e-6\nb: 2\n", (2, 1), "the colon is a full-width one"),
        ("a: 1\nlr = 1e-6\nb: 2\n", (2, 1), "a value follows its key after a colon, not after ="),
        ("a: 1\nlr\nb: 2\n", (2, 1), "a key without a colon and a value"),
        ("a: 'x\nb: 2\n", (1, 4), "the quote ' that opens here is never closed"),
        ('a: 1\nb: "x\nc: 2\n', (2, 4), 'the quote " that opens here is never closed'),
        ("a: 'it's'\n", (1, 8), "text follows the closing quote"),
        ('a: "x" y\n', (1, 8), "text follows the closing quote"),
        ("a: [1, 2\nb: 3\n", (1, 4), "the [ that opens here is not closed"),
        ("a: {x: 1\nb: 2\n", (1, 4), "the { that opens here is not closed"),
        ("a: [", (1, 5), "the text ends inside brackets"),
        ("a: {b:\n", (2, 1), "the text ends inside brackets"),
        ("a: [1 2, 'x' 'y']\n", (1, 4), "a comma is missing"),
        ("a: 1\n  b: 2\n", (2, 4), "this line is indented under a key that already has a value"),
        ("a: b: c\n", (1, 5), "a second colon in one line"),
        ("v:\n  a: 1\n b: 2\n", (3, 2), "the indentation is not that of the list or section above"),
        (" a: 1\nb: 2\n", (2, 1), "the indentation is not that of the list or section above"),
        ("a: 1\n- b\n", (2, 1), "a list item among keys"),
        ("a: - b\n", (1, 4), "a list begins on the line of its key"),
        ("a: @x\n", (1, 4), "a value can't begin with @"),
        ("a: `x`\n", (1, 4), "a value can't begin with `"),
        ("a: *.parquet\n", (1, 5), "a value that begins with * or & is an alias or an anchor"),
        ("a: 1\n<<<<<<< HEAD\nb: 2\n=======\nb: 3\n>>>>>>> x\n", (2, 1), "a merge conflict was left here"),
        ("a: 1\nlr\xa0: 2\nb:3\nc: 4\n", (3, 1), "there is no space after the colon"),
        ("a: 1\nlr:\xa02\nc: 4\n", (2, 4), "a character that looks like a space but is none (U+00A0)"),
        ("a: 1\n\u3000lr: 2 : 3\n", (2, 1), "a character that looks like a space but is none (U+3000)"),
    ],
)
def test_the_usual_causes(
    text: str, place: tuple[int, int], cause: str, loader: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nodes, "Loader", loader)
    document = parse(text, "f.yaml")
    (finding,) = document.findings
    assert cause in finding.message
    assert (finding.code, finding.line, finding.column) == ("ARL004", *place)
    assert finding.hint
    assert not document.whole


def test_the_remedy_shows_the_line_as_it_should_be() -> None:
    assert parse("a: 1\nlr:1e-6\n", "f").findings[0].hint == "lr: 1e-6"
    assert parse("a: 1\nlr = 1e-6\n", "f").findings[0].hint == "lr: 1e-6"


def test_windows_paths_in_double_quotes() -> None:
    (finding,) = parse('a: "C:\\data\\q"\n', "f").findings
    assert "begins an escape inside double quotes" in finding.message
    assert "single quotes" in finding.hint


@pytest.mark.parametrize(
    "text", ["]\n", "%YAML 2.0\n---\na: 1\n", "a: !x!y z\n", "a: |x\n  b\n", "? a\nb: 1\n? c: d: e\n"]
)
def test_what_has_no_usual_cause_still_has_a_place_and_a_remedy(text: str) -> None:
    (finding,) = parse(text, "f").findings
    assert finding.code == "ARL004"
    assert finding.message.startswith("not valid YAML: ")
    assert finding.line is not None
    assert finding.hint


def test_an_address_is_no_missing_space() -> None:
    assert parse("a: 1\nserver: http://x:80\n", "f").findings == []
