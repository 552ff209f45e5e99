"""Values in the grammar of Hydra's command line."""

from __future__ import annotations

import re
from typing import Any

_PLAIN = re.compile(r"[A-Za-z_/][A-Za-z0-9_./-]*")
_WORDS = {"true", "false", "null", "nan", "inf"}


def hydra_text(value: Any) -> str:
    """`value` as the right side of an override: text is quoted where it could be read as anything else."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return f"[{','.join(hydra_text(item) for item in value)}]"
    return _text(value) if isinstance(value, str) else repr(value)


def _text(text: str) -> str:
    if _PLAIN.fullmatch(text) and text.lower() not in _WORDS:
        return text
    # Between quotes only backslashes before a quote are special, and each pair of them stands for one.
    escaped = re.sub(r"(\\*)'", lambda match: match[1] * 2 + "\\'", text)
    trailing = len(escaped) - len(escaped.rstrip("\\"))
    return f"'{escaped}{chr(92) * trailing}'"
