from __future__ import annotations

from html.parser import HTMLParser

from agentic_rl import check
from agentic_rl.config.diagnostics import Finding, Report


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.seen.add(tag)
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_a_notebook_shows_every_finding() -> None:
    report = check({"train_backend": "local", "lr": -1, "rolout_n": 3}, files=False)
    html = report._repr_html_()
    assert html.count("<tr>") == len(report) + 1
    assert "did you mean rollout_n?" in html
    assert report.summary() in html


def test_an_empty_report_has_no_table() -> None:
    assert Report()._repr_html_() == "<div><p>no findings</p></div>"


def test_values_are_escaped() -> None:
    hostile = "<script>alert('1')</script>\n\x1b[31m&\u202e"
    html = Report([Finding("ARL101", "error", hostile, hostile, hostile, hostile, 1, 1)])._repr_html_()
    tags = Tags()
    tags.feed(html)
    assert tags.open == []
    assert tags.seen <= {"div", "p", "table", "thead", "tbody", "tr", "th", "td", "b", "br"}
    assert html.isprintable()
