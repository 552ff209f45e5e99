"""Whether the built-in agent that searches has a place to search."""

from __future__ import annotations

from agentic_rl.config.agent_variables import SEARCH
from agentic_rl.config.artifacts.pages import NO_SEARCH, finding
from agentic_rl.config.artifacts.result import Artifacts, Request

_AGENT, _AGENT_FILE, _KEY = "search_r1", "agent_engine_wrapper_path", "search"


def read(request: Request) -> Artifacts:
    """Compare the agent with the key and the variable that say where it searches."""
    values = request.values
    searches = values.get("agent_name") == _AGENT and values.get(_AGENT_FILE) is None
    told = values.get(_KEY) is not None or request.environ.get(SEARCH, "").strip()
    if not searches or told or request.backend not in ("local", "verl"):
        return Artifacts()
    message = f"{_AGENT} has nowhere to search: there is no key {_KEY}, and no variable {SEARCH} here"
    return Artifacts(findings=[finding(NO_SEARCH, "agent_name", message, f"{_KEY}: FILE_OR_ADDRESS")])
