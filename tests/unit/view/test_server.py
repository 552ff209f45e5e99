from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from agentic_rl.view import Server, ViewError, find_run
from view_doubles import SCRIPT, rollout, write_lines, write_run

Answer = tuple[int, http.client.HTTPMessage, bytes]
Start = Callable[..., Server]


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return write_run(tmp_path / "calc" / "seed-0")


@pytest.fixture
def start(run: Path) -> Iterator[Start]:
    running: list[tuple[Server, threading.Thread]] = []

    def started(**options: Any) -> Server:
        server = Server(find_run(run), **{"port": 0, **options})
        thread = threading.Thread(target=server.serve)
        thread.start()
        running.append((server, thread))
        return server

    yield started
    for server, thread in running:
        server.close()
        thread.join()


def ask(server: Server, path: str, **headers: str) -> Answer:
    address = urlsplit(server.address)
    host = "127.0.0.1" if address.hostname == "0.0.0.0" else address.hostname
    connection = http.client.HTTPConnection(str(host), address.port, timeout=20)
    try:
        connection.request("GET", path, headers=headers)
        response = connection.getresponse()
        return response.status, response.headers, response.read()
    finally:
        connection.close()


def asked(server: Server, path: str) -> Any:
    status, _, body = ask(server, path)
    assert status == 200, body
    return json.loads(body)


def all_groups(server: Server) -> Any:
    """The listing once the file is read."""
    while True:
        found = asked(server, "/api/groups?start=0")
        if found["progress"]["done"] == found["progress"]["size"] > 0:
            return found


def test_the_page_and_its_headers(start: Start) -> None:
    status, headers, body = ask(start(), "/")
    assert (status, headers["Content-Type"]) == (200, "text/html; charset=utf-8")
    assert b"<title>calc/seed-0</title>" in body
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["X-Frame-Options"] == "DENY"
    assert headers["Cache-Control"] == "no-store"


def test_what_the_page_asks_for(start: Start) -> None:
    server = start()
    assert all_groups(server)["rollouts"] == 16
    assert asked(server, "/api/run?")["title"] == "calc/seed-0"
    assert [curve["name"] for curve in asked(server, "/api/curves")["curves"]] == [
        "reward/mean",
        "policy/loss",
        "eval/reward",
    ]
    shown = asked(server, "/api/rollout?row=5&brief=1&generation=0")
    assert (shown["row"], shown["sample"], shown["parts"][0]["texts"][0]) == (5, 1, "Let")
    assert asked(server, "/api/search?text=STEP+2&start=0")["hits"] == list(range(8, 16))


def test_the_line_itself_can_be_saved(start: Start, run: Path) -> None:
    server = start()
    all_groups(server)
    _, headers, body = ask(server, "/line?row=3")
    assert body == (run / "trajectories.jsonl").read_bytes().splitlines(keepends=True)[3]
    assert headers["Content-Disposition"] == 'attachment; filename="rollout-3.json"'


@pytest.mark.parametrize(
    ("path", "status", "message"),
    [
        ("/api/rollout?row=99&generation=0", 404, "there is no rollout 99; there are 16"),
        ("/api/rollout?row=0&generation=7", 404, "the file was cut back or replaced"),
        ("/api/rollout?row=x&generation=0", 400, "row has to be a whole number"),
        ("/api/groups", 400, "start has to be a whole number"),
        ("/line?row=", 400, "row has to be a whole number"),
        ("/api/passwords", 404, "there is no such page"),
        ("/../../etc/passwd", 404, "there is no such page"),
    ],
)
def test_wrong_questions_get_an_answer(start: Start, path: str, status: int, message: str) -> None:
    server = start()
    all_groups(server)
    code, _, body = ask(server, path)
    assert (code, json.loads(body)) == (status, {"error": message})


def test_hostile_text_reaches_the_page_as_json_alone(start: Start, run: Path) -> None:
    write_lines(run / "trajectories.jsonl", [rollout(3, messages=[{"role": "user", "content": SCRIPT + "\ud800"}])])
    server = start()
    all_groups(server)
    _, headers, body = ask(server, "/api/rollout?row=16&generation=0")
    assert headers["Content-Type"] == "application/json; charset=utf-8"
    assert json.loads(body)["messages"][0]["text"] == SCRIPT + "\ud800"
    assert SCRIPT.encode() not in ask(server, "/")[2]


def test_another_sites_name_is_refused_on_loopback(start: Start) -> None:
    status, _, body = ask(start(), "/api/run", Host="evil.example")
    assert (status, b"own names" in body) == (403, True)


def test_beyond_loopback_the_token_is_needed_once_and_then_in_a_cookie(start: Start) -> None:
    server = start(host="0.0.0.0")
    (token,) = parse_qs(urlsplit(server.address).query)["token"]
    for path in ("/", "/api/run", "/?token=wrong", "/line?row=0"):
        status, _, body = ask(server, path)
        assert (status, b"calc" in body) == (403, False)
    status, headers, _ = ask(server, f"/?token={token}")
    assert (status, headers["Location"]) == (303, "/")
    cookie = headers["Set-Cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert ask(server, "/api/run", Cookie=cookie.partition(";")[0])[0] == 200


def test_a_port_in_use_is_told_or_avoided(start: Start, run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    taken = urlsplit(start().address).port
    with pytest.raises(ViewError, match=f"127.0.0.1:{taken} can't be had: .*; give another --host or --port"):
        Server(find_run(run), port=taken)
    monkeypatch.setattr("agentic_rl.view.server.PORT", taken)
    assert urlsplit(start(port=None).address).port != taken


def test_a_host_that_is_not_ours_is_told(run: Path) -> None:
    with pytest.raises(ViewError, match=r"192\.0\.2\.1:0 can't be had"):
        Server(find_run(run), host="192.0.2.1", port=0)
