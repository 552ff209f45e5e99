"""Which failed rollouts are worth another try."""

from __future__ import annotations

from dataclasses import dataclass

from agentic_rl.rollout.engines.base import EngineFaultError


@dataclass(frozen=True)
class Retries:
    """How often a rollout begins anew after which failures.

    A new try begins with nothing: what the failed one recorded is dropped, and the time-out counts from its start.
    """

    most: int = 1
    """0: a failed rollout is never tried again."""
    on: tuple[type[BaseException], ...] = (EngineFaultError,)
    """The failures: by default those of the engine alone. An error of the agent itself would come again, and tries
    after `LateError` may double the time of a step."""

    def wants(self, cause: BaseException, tries: int) -> bool:
        """Whether a rollout that failed after `tries` tries begins again."""
        return tries <= self.most and isinstance(cause, self.on)
