"""Agents that come with the package, by `agent_name`."""
