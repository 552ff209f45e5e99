"""Keys of trajectories: what opens one opens no other, and none has to be remembered."""

from __future__ import annotations

import hashlib
import hmac
import secrets


class Keys:
    """Makes and checks the keys of one gateway."""

    def __init__(self) -> None:
        self._secret = secrets.token_bytes(32)

    def key(self, number: int) -> str:
        """Return the key of a trajectory."""
        digest = hmac.new(self._secret, str(number).encode(), hashlib.sha256).hexdigest()
        return f"sk-rollout-{digest}"

    def fits(self, number: int, authorization: str) -> bool:
        """Whether a header holds the key of a trajectory; it takes the same time for every wrong one."""
        scheme, _, key = authorization.partition(" ")
        given = key.strip().encode("utf-8", "replace")
        return hmac.compare_digest(given, self.key(number).encode()) and scheme.lower() == "bearer"
