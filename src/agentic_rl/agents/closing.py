"""The end of an agent."""

from __future__ import annotations

import logging

from agentic_rl.agents.agent import Agent
from agentic_rl.agents.calls import call

_LOGGER = logging.getLogger(__name__)


async def close_agent(agent: Agent, seconds: float = 60.0) -> None:
    """Close an agent after its last rollout. One that fails to, or is late, can't spoil what was learned until then."""
    try:
        await call(agent.close, what="close()", seconds=seconds)
    except Exception as error:
        _LOGGER.warning("%s.close: %s: %s", type(agent).__name__, type(error).__name__, error)
