"""What agents and their tools read from the environment of their process, and the keys that set it."""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import Any

SANDBOX = "AGENTIC_RL_SANDBOX"
"""`weak` allows a weak sandbox where the machine has no other; `full`, the default, does not."""
SEARCH, SEARCH_TOPK = "AGENTIC_RL_SEARCH", "AGENTIC_RL_SEARCH_TOPK"
"""A file of documents or the address of a retrieval server; passages of a search."""
VARIABLES = {"sandbox": SANDBOX, "search": SEARCH, "search_topk": SEARCH_TOPK}
"""Key -> the variable that it sets."""


def agent_variables(values: Mapping[str, Any], written: Container[str], environ: Mapping[str, str]) -> dict[str, str]:
    """The variables of the processes in which agents run.

    Args:
        values: those of a configuration, by dotted key.
        written: the keys that somebody wrote: they win over `environ`, which wins over what is default.
        environ: the environment of this process.
    """
    chosen = {}
    for key, name in VARIABLES.items():
        value = values.get(key)
        if environ.get(name, "").strip() and key not in written:
            chosen[name] = environ[name]
        elif value is not None:
            chosen[name] = str(value)
    return chosen
