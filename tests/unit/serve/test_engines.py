"""Model servers that the service starts; a small program stands for vLLM, which needs a machine of its own."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from agentic_rl.config.diagnostics import ConfigError
from agentic_rl.serve import engines
from agentic_rl.serve.engines import command
from agentic_rl.serve.executors import Executors
from agentic_rl.serve.listening import listening
from agentic_rl.serve.settings import Infer

WELL = """
import http.server, sys
class Health(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Health).serve_forever()
"""


def own(port: int = 8333, **more: Any) -> Infer:
    return Infer(
        "big",
        "policy",
        (f"http://127.0.0.1:{port}",),
        engine="vllm_mp",
        path="/models/m",
        key="infer_instances[0]",
        **more,
    )


def test_the_options_of_vllm_are_passed_on_by_their_names() -> None:
    options = {
        "tensor_parallel_size": 4,
        "enable_prefix_caching": True,
        "enforce_eager": False,
        "seed": None,
        "compilation_config": {"level": 3},
    }
    _, *rest = command(own(options=options), "127.0.0.1", 8333)
    assert rest[:9] == [
        *("-m", "vllm.entrypoints.cli.main", "serve", "/models/m", "--served-model-name", "policy"),
        *("--host", "127.0.0.1", "--port"),
    ]
    assert rest[9:] == [
        *("8333", "--distributed-executor-backend", "mp", "--tensor-parallel-size", "4", "--enable-prefix-caching"),
        *("--no-enforce-eager", "--compilation-config", '{"level": 3}'),
    ]


def test_what_the_file_says_wins_over_what_the_engine_means() -> None:
    line = command(own(options={"distributed_executor_backend": "ray"}), "127.0.0.1", 1)
    assert line[line.index("--distributed-executor-backend") + 1] == "ray"
    assert line.count("--distributed-executor-backend") == 1


def programs(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    def instead(infer: Infer, host: str, port: int) -> Sequence[str]:
        return [sys.executable, "-c", text, str(port)]

    monkeypatch.setattr(engines, "command", instead)


def free_port() -> int:
    with listening("127.0.0.1", 0) as bound:
        return int(bound.getsockname()[1])


def started(folder: Path, infer: Infer, **settings: Any) -> Infer:
    async def main() -> Infer:
        executors = Executors(str(folder), **settings)
        try:
            return await executors.engine(infer)
        finally:
            await executors.close()

    return asyncio.run(main())


def test_a_server_is_waited_for_and_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    programs(monkeypatch, WELL)
    port = free_port()
    assert started(tmp_path, own(port)).servers == (f"http://127.0.0.1:{port}",)
    with listening("127.0.0.1", port):  # it is gone
        pass
    assert (tmp_path / "engine-big-0.log").stat().st_mode & 0o777 == 0o640


def test_a_server_that_ends_is_a_finding_with_the_end_of_its_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs(monkeypatch, "import sys; sys.exit('no device')")
    with pytest.raises(ConfigError, match="no device") as caught:
        started(tmp_path, own(free_port()))
    (finding,) = caught.value.report
    assert (finding.code, finding.key) == ("ARL706", "infer_instances[0]")


def test_a_server_that_never_answers_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    programs(monkeypatch, "import time; time.sleep(60)")
    with pytest.raises(ConfigError, match=r"does not answer after 0\.2 s"):
        started(tmp_path, own(free_port()), engine_seconds=0.2)


def test_servers_of_others_are_left_alone(tmp_path: Path) -> None:
    infer = Infer("big", "policy", ("http://127.0.0.1:1",))
    assert started(tmp_path, infer) is infer
    assert not list(tmp_path.iterdir())
