"""Programs beside a job, and waiting for what they offer."""

from __future__ import annotations

import http.server
import signal
import socket
import sys
import threading
import time
from pathlib import Path

import pytest

from agentic_rl.backends.errors import ClusterError
from agentic_rl.cluster.programs import Program, StoppedError, answers, is_healthy, require_free, wait_for


def program(tmp_path: Path, text: str) -> Program:
    return Program("it", [sys.executable, "-c", text], tmp_path / "log.txt")


def test_a_program_ends_with_its_block(tmp_path: Path) -> None:
    with program(tmp_path, "import time; print('up', flush=True); time.sleep(60)") as running:
        assert wait_for(lambda: "up" in running.log.read_text(), 30, lambda: False)
        assert running.runs
    assert not running.runs
    assert running.status == 128 + signal.SIGTERM


def test_one_that_does_not_listen_is_killed(tmp_path: Path) -> None:
    text = "import signal, time; signal.signal(15, signal.SIG_IGN); print('up', flush=True); time.sleep(60)"
    running = program(tmp_path, text)
    assert wait_for(lambda: "up" in running.log.read_text(), 30, lambda: False)
    running.end(0.2)
    assert running.status == 128 + signal.SIGKILL


def test_how_it_ended_and_its_last_words(tmp_path: Path) -> None:
    with program(tmp_path, "raise ValueError('no room')") as running:
        assert wait_for(lambda: not running.runs, 30, lambda: False)
    assert running.status == 1
    assert running.last_words() == "ValueError: no room"


def test_waiting_is_bounded_and_ends_with_a_signal() -> None:
    assert not wait_for(lambda: False, 0.1, lambda: False)
    with pytest.raises(StoppedError):
        wait_for(lambda: False, 60, lambda: True)
    began = time.monotonic()
    assert wait_for(lambda: True, 0, lambda: True)
    assert time.monotonic() - began < 1


def test_a_port_that_is_taken_is_refused_and_a_free_one_is_not() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert answers(f"127.0.0.1:{port}")
        with pytest.raises(ClusterError, match=f"port {port} can't be opened"):
            require_free([port])
    require_free([port])
    assert not answers(f"127.0.0.1:{port}")
    assert not answers("nonsense")


@pytest.mark.parametrize(("status", "well"), [(200, True), (204, True), (503, False)])
def test_a_service_is_well_when_it_says_so(status: int, well: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.handle_request)
        thread.start()
        assert is_healthy(f"http://127.0.0.1:{server.server_port}/health") is well
        thread.join()
    assert not is_healthy(f"http://127.0.0.1:{server.server_port}/health")
