"""What a configuration gives to its agents through the environment of their processes."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from agentic_rl.config.agent_variables import SANDBOX, agent_variables

if TYPE_CHECKING:
    from agentic_rl.config.load import Loaded


def variables_of(loaded: Loaded, environ: Mapping[str, str]) -> dict[str, str]:
    """The variables of the processes in which the agents of a run are made; see `agent_variables`."""
    return agent_variables(loaded.values, loaded.sources, environ)


@contextlib.contextmanager
def set_for_agents(loaded: Loaded) -> Iterator[None]:
    """Have those variables in this process, where the agents of a run are made and some make their tools later."""
    chosen = variables_of(loaded, os.environ)
    before = {name: os.environ.get(name) for name in chosen}
    os.environ.update(chosen)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def words_about_sandbox(variables: Mapping[str, str]) -> str:
    """What the log of the run says about a weak sandbox; empty where it is not weak."""
    if variables.get(SANDBOX, "").strip() != "weak":
        return ""
    return "sandbox: weak; where this machine can't keep the policy's code apart, the tool python runs it all the same"
