"""What a client is told when a call fails, in OpenAI's form."""

from __future__ import annotations

import logging
from typing import Any

from agentic_rl.agents.errors import (
    BudgetExhaustedError,
    LateError,
    PromptTooLongError,
    RolloutEndedError,
    StepLimitError,
)

_LOGGER = logging.getLogger(__name__)
_MEANINGS: tuple[tuple[type[Exception], int, str | None], ...] = (
    (StepLimitError, 400, "max_steps_reached"),
    (BudgetExhaustedError, 400, "context_length_exceeded"),
    (PromptTooLongError, 400, "context_length_exceeded"),
    (LateError, 504, "turn_timeout"),
    (RolloutEndedError, 410, "rollout_ended"),
    (ValueError, 400, None),  # of the engine and of the chat template: something in the body is wrong
)


class ApiError(Exception):
    """An answer that is an error.

    Args:
        status: of HTTP.
        message: what is wrong, the rule and the remedy.
        param: the key of the body that is wrong.
        code: by which programs tell errors apart.
    """

    def __init__(self, status: int, message: str, *, param: str | None = None, code: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.param = param
        self.code = code

    @property
    def again(self) -> bool:
        """Whether the same call may succeed later; clients of OpenAI do it again themselves unless told not to."""
        return self.status == 500

    def body(self) -> dict[str, Any]:
        """Return what is sent."""
        kind = "server_error" if self.status >= 500 else "invalid_request_error"
        return {"error": {"message": self.message, "type": kind, "param": self.param, "code": self.code}}


class InvalidError(ApiError):
    """A body that can't be answered."""

    def __init__(self, message: str, *, param: str | None = None, code: str | None = None) -> None:
        super().__init__(400, message, param=param, code=code)


def api_error(error: Exception) -> ApiError:
    """Say in OpenAI's words what went wrong in a call of the policy."""
    if isinstance(error, ApiError):
        return error
    for kind, status, code in _MEANINGS:
        if isinstance(error, kind):
            return ApiError(status, str(error), code=code)
    _LOGGER.error("a call through the gateway failed", exc_info=error)
    return ApiError(500, f"{type(error).__name__}: {error}", code="policy_failed")
