"""Who may read: on loopback this machine's programs by its own names, elsewhere whoever has the token."""

from __future__ import annotations

import hmac
import secrets
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie

from agentic_rl.config.addresses import is_loopback, name_in

COOKIE = "agentic_rl_view"


@dataclass(frozen=True)
class Access:
    """What a request has to show."""

    token: str
    """Empty: none is needed."""

    @classmethod
    def on(cls, host: str) -> Access:
        """What a server on `host` asks for: a new token, unless only this machine can reach it."""
        return cls("" if is_loopback(host) else secrets.token_urlsafe(24))

    def names_this_machine(self, host: str) -> bool:
        """Whether the header `Host` is fine.

        Without a token a foreign name is refused: a web page elsewhere could have its own name lead here (DNS
        rebinding), and read with the user's browser what it shows.
        """
        return bool(self.token) or is_loopback(name_in(host))

    def admits(self, token: str, cookies: str) -> bool:
        """Whether the token of the address or of a cookie is right."""
        return not self.token or any(
            hmac.compare_digest(given.encode("utf-8", "replace"), self.token.encode())
            for given in (token, _cookie(cookies))
        )

    def cookie(self) -> str:
        """The header by which the browser keeps the token."""
        return f"{COOKIE}={self.token}; Path=/; HttpOnly; SameSite=Strict"


def _cookie(header: str) -> str:
    try:
        found = SimpleCookie(header).get(COOKIE)
    except CookieError:
        return ""
    return found.value if found else ""
