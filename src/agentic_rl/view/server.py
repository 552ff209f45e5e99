"""Serves the page of one run."""

from __future__ import annotations

import json
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socket import AF_INET6
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from agentic_rl.view.access import Access
from agentic_rl.view.answers import Answers, WrongQueryError
from agentic_rl.view.errors import ViewError
from agentic_rl.view.page_file import page
from agentic_rl.view.run import Run

PORT = 8421
"""Taken unless another is wanted; where it is in use, any free one."""
MAX_QUERY = 4_096
_HEADERS = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class Server:
    """A server for one run, bound when it is made.

    Args:
        run: whose files are shown.
        host: the address or name to listen on; with any but a loopback address a token is asked for.
        port: None: `PORT`, or any free one.
        tokenizer: the folder or file of the tokenizer, where the run's own is not to be found.

    Raises:
        ViewError: the address can't be had, or the tokenizer can't be read.
    """

    def __init__(
        self, run: Run, *, host: str = "127.0.0.1", port: int | None = None, tokenizer: Path | None = None
    ) -> None:
        self.answers = Answers(run, tokenizer)
        self._access = Access.on(host)
        self._host = host
        self._http = _bound(host, port, _handler(self.answers, self._access))

    @property
    def address(self) -> str:
        """The page's, with the token where one is needed."""
        host = f"[{self._host}]" if ":" in self._host else self._host
        token = f"/?token={self._access.token}" if self._access.token else "/"
        return f"http://{host}:{self._http.server_address[1]}{token}"

    def serve(self) -> None:
        """Answer until `close` is called from another thread, or an interrupt comes."""
        self.answers.index.follow()
        try:
            self._http.serve_forever(poll_interval=0.2)
        finally:
            self.answers.index.stop()
            self._http.server_close()

    def close(self) -> None:
        """End `serve`."""
        self._http.shutdown()


class _Threads(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A browser that went away is nothing to tell."""


class _Threads6(_Threads):
    address_family = AF_INET6


def _bound(host: str, port: int | None, handler: type[BaseHTTPRequestHandler]) -> _Threads:
    kind = _Threads6 if ":" in host else _Threads
    try:
        if port is not None:
            return kind((host, port), handler)
        try:
            return kind((host, PORT), handler)
        except OSError:
            return kind((host, 0), handler)
    except OSError as error:
        wanted = f"{host}:{PORT if port is None else port}"
        raise ViewError(f"{wanted} can't be had: {error.strerror or error}; give another --host or --port") from None


def _handler(answers: Answers, access: Access) -> type[BaseHTTPRequestHandler]:
    class Handler(_Handler):
        pass

    Handler.answers, Handler.access = answers, access
    return Handler


class _Handler(BaseHTTPRequestHandler):
    answers: Answers
    access: Access
    protocol_version = "HTTP/1.1"
    timeout = 60  # seconds for which a connection may be idle

    def do_GET(self) -> None:
        """Answer one request."""
        address = urlsplit(self.path)
        query = dict(parse_qsl(address.query[:MAX_QUERY], keep_blank_values=True))
        if not self.access.names_this_machine(self.headers.get("Host", "")):
            return self._refuse(HTTPStatus.FORBIDDEN, "this viewer answers on this machine's own names only")
        if not self.access.admits(query.get("token", ""), self.headers.get("Cookie", "")):
            return self._refuse(HTTPStatus.FORBIDDEN, "open the address with the token that agentic-rl view printed")
        if address.path == "/":
            return self._page(with_token="token" in query)
        if address.path == "/line":
            return self._guarded(lambda: self._line(query))
        name = address.path.removeprefix("/api/")
        if name in self.answers.by_name:
            return self._guarded(lambda: self._json(self.answers.by_name[name](query)))
        return self._refuse(HTTPStatus.NOT_FOUND, "there is no such page")

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class's name
        """Requests are nothing to tell."""

    def _page(self, *, with_token: bool) -> None:
        if not (with_token and self.access.token):
            return self._send(page(title=self.answers.run.title).encode("utf-8", "replace"), "text/html")
        # The token goes out of the address, and with it out of the browser's history.
        self.send_response(HTTPStatus.SEE_OTHER)
        self.send_header("Location", "/")
        self.send_header("Set-Cookie", self.access.cookie())
        self.send_header("Content-Length", "0")
        self.end_headers()
        return None

    def _guarded(self, answer: Any) -> None:
        try:
            answer()
        except WrongQueryError as error:
            self._refuse(HTTPStatus.BAD_REQUEST, str(error))
        except (LookupError, OSError, ValueError) as error:
            if isinstance(error, ConnectionError):
                raise
            self._refuse(HTTPStatus.NOT_FOUND, str(error.args[0] if error.args else error))

    def _line(self, query: dict[str, str]) -> None:
        """The line itself, to keep."""
        try:
            row = int(query.get("row", ""))
        except ValueError:
            raise WrongQueryError("row has to be a whole number") from None
        line = self.answers.index.line(row)
        self._send(line, "application/json", {"Content-Disposition": f'attachment; filename="rollout-{row}.json"'})

    def _json(self, value: Any, status: HTTPStatus = HTTPStatus.OK) -> None:
        self._send(json.dumps(value, separators=(",", ":")).encode(), "application/json", status=status)

    def _refuse(self, status: HTTPStatus, message: str) -> None:
        self._json({"error": message}, status)

    def _send(
        self, body: bytes, kind: str, more: dict[str, str] | None = None, status: HTTPStatus = HTTPStatus.OK
    ) -> None:
        self.send_response(status)
        for name, value in {**_HEADERS, **(more or {})}.items():
            self.send_header(name, value)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
