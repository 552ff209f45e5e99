"""Who may use the service: on loopback this machine's programs, elsewhere whoever has the token."""

from __future__ import annotations

import hmac
import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from agentic_rl.config.addresses import is_loopback, name_in
from agentic_rl.config.secure_paths import PathChangedError, check_path
from agentic_rl.config.writing import open_new
from agentic_rl.rollout.gateway.faults import ApiError
from agentic_rl.serve.findings import TOKEN_REFUSED, error

TOKEN, TOKEN_FILE = "AGENTIC_RL_SERVE_TOKEN", "AGENTIC_RL_SERVE_TOKEN_FILE"
NAME = "serve_token"
"""Of the file beside the log."""
_SHORTEST = 16
_LONGEST = 4096


@dataclass(frozen=True)
class Access:
    """What a request has to show."""

    token: str = ""
    """Empty: none is needed."""
    any_host: bool = False
    """Without a token: whether the service may be called by any name."""
    told: str = ""
    """Where the token is, for people; never the token."""

    def refusal(self, headers: Mapping[bytes, bytes]) -> ApiError | None:
        """Why a request is not answered.

        Without a token a page of the web is refused, which could have its own name lead here (DNS rebinding).
        """
        if self.token:
            kind, _, given = headers.get(b"authorization", b"").partition(b" ")
            if kind.lower() == b"bearer" and hmac.compare_digest(given.strip(), self.token.encode()):
                return None
            return ApiError(401, "the token is missing or wrong; send it as Authorization: Bearer TOKEN", code="token")
        if b"origin" in headers or b"sec-fetch-mode" in headers:
            return ApiError(403, "pages in a browser are not served", code="from_browser")
        if not self.any_host and not is_loopback(name_in(headers.get(b"host", b"localhost").decode("latin-1"))):
            return ApiError(403, "without a token only this machine's own names are served", code="foreign_name")
        return None


def access_on(host: str, log_dir: str, environ: Mapping[str, str], *, insecure: bool = False) -> Access:
    """What a service on `host` asks for: beyond loopback a token, which is made where there is none yet.

    Raises:
        ConfigError: there is a token that can't be used.
    """
    given = environ.get(TOKEN, "")
    if given:
        return Access(_usable(given, TOKEN), told=f"that of {TOKEN}")
    if file := environ.get(TOKEN_FILE, ""):
        return Access(_read(file, TOKEN_FILE), told=f"in {file}")
    if insecure or is_loopback(host):
        return Access(any_host=insecure)
    path = Path(log_dir).absolute() / NAME
    if not os.path.lexists(path):
        _make(path)
    return Access(_read(str(path), "agentic_ai.log_dir"), told=f"in {path}")


def _make(path: Path) -> None:
    try:
        with open_new(path) as file:
            file.write(f"{secrets.token_urlsafe(32)}\n".encode())
    except FileExistsError:
        return  # another service was quicker
    except OSError as problem:
        raise error(
            TOKEN_REFUSED,
            "agentic_ai.log_dir",
            f"{path} can't be written ({problem.strerror or problem}), and without a token nobody may use the service",
            f"make the folder writable, or set {TOKEN}",
        ) from None


def _read(path: str, key: str) -> str:
    # The folders above are the user's affair: logs lie below /var/log or a temporary folder, which belong to others.
    checked = check_path(path, key, "file")
    problems = [one for one in checked.findings if one.severity == "error"]
    if problems:
        first = problems[0]
        raise error(TOKEN_REFUSED, key, first.message, first.hint or f"chmod 640 {path}")
    assert checked.checked is not None  # noqa: S101 - there is no error
    try:
        with checked.checked.open() as file:
            text = file.read(_LONGEST)
    except (PathChangedError, OSError) as problem:
        raise error(TOKEN_REFUSED, key, f"{path} can't be read: {problem}", "start the service again") from None
    return _usable(text.decode("utf-8", "replace").strip(), key)


def _usable(token: str, key: str) -> str:
    if len(token) < _SHORTEST or not (token.isascii() and token.isprintable()) or " " in token:
        raise error(
            TOKEN_REFUSED,
            key,
            f"a token has at least {_SHORTEST} printable ASCII characters without spaces; this one has {len(token)}",
            "python -c 'import secrets; print(secrets.token_urlsafe(32))'",
        )
    return token
