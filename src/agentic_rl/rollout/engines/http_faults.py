"""What can go wrong between us and a server, and how long to wait before the next try."""

from __future__ import annotations

import email.utils
import random
import time
from collections.abc import Mapping
from dataclasses import dataclass

from agentic_rl.rollout.engines.base import EngineFaultError

TOO_BUSY = frozenset({429, 503})
"""Statuses by which a server that is well asks for patience."""
SHOWN = 300
"""Characters of a server's answer that a message quotes."""


class ServerFaultError(EngineFaultError):
    """One try failed: no connection, no answer in time, a status of 500 or more, or an answer that makes no sense."""


class ServerBusyError(ServerFaultError):
    """The server is well, but takes no further request now."""

    def __init__(self, message: str, retry_after: float = 0.0) -> None:
        super().__init__(message)
        self.retry_after = retry_after
        """Seconds for which the server wants to be left alone; 0: it does not say."""


class ServerGoneError(ServerFaultError):
    """Nothing accepts connections at the address."""


class NoServerError(ServerFaultError):
    """All servers were down, for as long as one was waited for."""


class ServerRefusedError(RuntimeError):
    """The server refuses the request itself: the same one would be refused again."""


class ServerUnsuitableError(RuntimeError):
    """The server can't do what rollouts need of it; the message says which version or setting does."""


@dataclass(frozen=True)
class Backoff:
    """Waits between tries that double, with jitter, so that a thousand rollouts do not come back at one moment."""

    first: float = 0.1
    """Seconds before the second try, on average."""
    longest: float = 20.0
    """Seconds that no wait exceeds, whatever the server asks for."""

    def seconds(self, tries: int, fault: ServerFaultError) -> float:
        """Return how long to wait after `tries` failed ones, the last of them with `fault`."""
        wait: float = min(self.first * 2.0 ** (tries - 1), self.longest) * random.uniform(0.5, 1.5)  # noqa: S311 - not a secret
        if isinstance(fault, ServerBusyError):
            wait += fault.retry_after
        return min(wait, self.longest)


def refusal(url: str, status: int, headers: Mapping[bytes, bytes], body: bytes) -> Exception:
    """Return the error that an answer with a status other than 200 is."""
    text = body[:SHOWN].decode("utf-8", "replace").strip()
    what = f"{url} answered with status {status}: {text!r}"
    if status in TOO_BUSY:
        return ServerBusyError(what, retry_after(headers.get(b"retry-after", b"").decode("latin-1")))
    if status >= 500 or status == 408:
        return ServerFaultError(what)
    if status in (401, 403):
        return ServerRefusedError(f"{what}; give the key that the server was started with as api_key")
    return ServerRefusedError(what)


def retry_after(text: str) -> float:
    """Read a Retry-After header, seconds or a date; what can't be read is 0."""
    try:
        seconds = float(text)
    except ValueError:
        try:
            seconds = email.utils.parsedate_to_datetime(text).timestamp() - time.time()
        except (ValueError, TypeError, OverflowError):
            return 0.0
    return seconds if 0 < seconds < float("inf") else 0.0
