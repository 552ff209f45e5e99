"""The page: its parts put together, for the server and for one file."""

from __future__ import annotations

import base64
import hashlib
import json
from functools import cache
from importlib.resources import files
from typing import Any

SCRIPTS = (
    "format.js",
    "dom.js",
    "state.js",
    "source.js",
    "chart.js",
    "curves.js",
    "tokens.js",
    "found.js",
    "messages.js",
    "group.js",
    "rollout.js",
    "list.js",
    "filters.js",
    "settings.js",
    "main.js",
)
"""In the order in which they are joined: one script, whose parts share their names."""


@cache
def part(name: str) -> str:
    """One of the files beside this one."""
    return (files("agentic_rl.view") / "page" / name).read_text(encoding="utf-8")


@cache
def script() -> str:
    """All of the page's JavaScript."""
    body = "\n".join(part(name) for name in SCRIPTS)
    return f'(() => {{\n"use strict";\n{body}\n}})();\n'


def page(data: Any = None, title: str = "") -> str:
    """The whole page in ASCII-safe HTML; `data` makes it one that needs no server.

    What it shows is put in as JSON in a script element of a type that is not run, `<` escaped. Its policy lets only
    this script run, known by its hash, and lets it load nothing.
    """
    style = part("style.css")
    connect = "'self'" if data is None else "'none'"
    policy = (
        f"default-src 'none'; script-src {_hash(script())}; style-src {_hash(style)}; img-src data:; "
        f"connect-src {connect}; base-uri 'none'; form-action 'none'"
    )
    return (
        part("index.html")
        .replace("{{policy}}", policy)
        .replace("{{title}}", _escaped(title or "agentic_rl"))
        .replace("{{style}}", style)
        .replace("{{script}}", script())
        .replace("{{data}}", inline_json(data))
    )


def inline_json(data: Any) -> str:
    """JSON that can't end the element in which it stands."""
    text = json.dumps(data, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _hash(content: str) -> str:
    digest = hashlib.sha256(content.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def _escaped(text: str) -> str:
    return "".join(letter if letter.isalnum() or letter in " /_-." else f"&#{ord(letter)};" for letter in text)
