from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser

from hypothesis import given
from hypothesis import strategies as st

from agentic_rl.view.page_file import SCRIPTS, inline_json, page, part, script
from view_doubles import SCRIPT


class Elements(HTMLParser):
    """The elements of a page and the text of its scripts, as a browser's parser finds them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.addresses: list[str] = []
        self.scripts: list[str] = []
        self.policy = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.addresses += [value or "" for name, value in attrs if name in {"src", "href"}]
        named = dict(attrs)
        if named.get("http-equiv") == "Content-Security-Policy":
            self.policy = named["content"] or ""

    def handle_data(self, data: str) -> None:
        if self.lasttag == "script" and data.strip():
            self.scripts.append(data)


def test_what_is_shown_can_not_become_elements() -> None:
    plain, hostile = Elements(page({"a": "b"}, "run")), Elements(page({"a": SCRIPT}, SCRIPT))
    assert hostile.tags == plain.tags
    assert json.loads(hostile.scripts[0]) == {"a": SCRIPT}


@given(st.text() | st.dictionaries(st.text(), st.text()))
def test_data_in_the_page_stays_what_it_is(data: object) -> None:
    text = inline_json(data)
    assert not set(text) & set("<>&")
    assert text.isascii()
    assert json.loads(text) == data


def test_the_page_refers_to_nothing_elsewhere() -> None:
    assert set(Elements(page()).addresses) == {"#main", "data:,"}
    for name in [*SCRIPTS, "style.css", "index.html"]:
        assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)|//cdn|@import|url\(", part(name)), name


def test_its_policy_lets_its_own_script_run_and_nothing_else() -> None:
    served, alone = Elements(page()), Elements(page({}))
    own = base64.b64encode(hashlib.sha256(served.scripts[-1].encode()).digest()).decode()
    assert served.scripts[-1] == script()
    assert f"script-src 'sha256-{own}';" in served.policy
    assert "connect-src 'self'" in served.policy
    assert "connect-src 'none'" in alone.policy
    assert "unsafe" not in served.policy + alone.policy


def test_the_script_builds_elements_without_parsing_html() -> None:
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function", script())


def test_every_file_of_the_page_is_used() -> None:
    from importlib.resources import files

    there = {entry.name for entry in (files("agentic_rl.view") / "page").iterdir()}
    assert there == {*SCRIPTS, "style.css", "index.html"}
