"""The description of the service as a page: OpenAPI read by people, without scripts and without other files."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem;
  color: #1c1c1c; background: #fff }
h1 { font-size: 1.5rem } h2 { font-size: 1.15rem; margin: 2rem 0 .5rem; text-transform: capitalize }
details { border: 1px solid #ccc; border-radius: .4rem; margin: .4rem 0; padding: .4rem .8rem }
summary { cursor: pointer } code, pre { font-family: ui-monospace, monospace; font-size: .9em }
summary b { display: inline-block; min-width: 3.5rem } pre { overflow: auto; background: #f4f4f4; padding: .6rem }
td { padding: .1rem 1rem .1rem 0; vertical-align: top }
@media (prefers-color-scheme: dark) { body { color: #ddd; background: #181818 } pre { background: #262626 }
  details { border-color: #444 } a { color: #8ab4f8 } }
"""


def page(description: Mapping[str, Any]) -> str:
    """The page for a description in OpenAPI's form."""
    info = description["info"]
    title = escape(f"{info['title']} {info['version']}")
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f'<meta name="viewport" content="width=device-width"><style>{_STYLE}</style></head><body>'
        f"<h1>{title}</h1><p>{escape(info.get('description', ''))}</p>"
        f'<p>The same for programs: <a href="openapi.json">openapi.json</a></p>'
        f"{''.join(_sections(description))}</body></html>"
    )


def _sections(description: Mapping[str, Any]) -> Iterator[str]:
    shown = ""
    for path, operations in description["paths"].items():
        for method, operation in operations.items():
            tag = (operation.get("tags") or ["other"])[0]
            if tag != shown:
                yield f"<h2>{escape(tag)}</h2>"
                shown = tag
            yield _operation(method, path, operation)


def _operation(method: str, path: str, operation: Mapping[str, Any]) -> str:
    parts = [f"<p>{escape(operation.get('description', ''))}</p>"]
    for parameter in operation.get("parameters", ()):
        meaning = escape(parameter.get("description", ""))
        parts.append(f"<p><code>{escape(parameter['name'])}</code> ({escape(parameter['in'])}) {meaning}</p>")
    for kind, content in operation.get("requestBody", {}).get("content", {}).items():
        schema = escape(json.dumps(content.get("schema", {}), indent=2))
        parts.append(f"<p>Body: {escape(kind)}</p><pre>{schema}</pre>")
    rows = (
        f"<tr><td>{escape(status)}</td><td>{escape(answer.get('description', ''))}</td></tr>"
        for status, answer in operation.get("responses", {}).items()
    )
    parts.append(f"<table>{''.join(rows)}</table>")
    head = f"<b>{escape(method.upper())}</b> <code>{escape(path)}</code>"
    return f"<details><summary>{head}</summary>{''.join(parts)}</details>"
