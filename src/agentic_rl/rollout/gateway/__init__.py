"""An OpenAI-compatible endpoint for each trajectory: any framework's calls are recorded token by token."""

from agentic_rl.rollout.gateway.gateway import Gateway, GatewayMissingError

__all__ = ["Gateway", "GatewayMissingError"]
