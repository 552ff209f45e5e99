from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from typer.testing import CliRunner

from agentic_rl.cli.app import app

runner = CliRunner()


def test_as_a_process_with_a_file_and_a_port_that_is_taken(config: Path) -> None:
    import socket

    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        config.write_text(config.read_text() + f"infer_port: {server.getsockname()[1]}\n")
        command = [sys.executable, "-m", "agentic_rl", "doctor", str(config), "--format", "json"]
        environ = {**os.environ, "HTTP_PROXY": "http://proxy:3128", "no_proxy": "", "NO_PROXY": ""}
        done = subprocess.run(command, capture_output=True, text=True, env=environ, check=False)
        port = server.getsockname()[1]
    checks = {check["name"]: check for check in json.loads(done.stdout)["checks"]}
    assert checks[f"port {port}"]["status"] == "warning"
    assert checks["proxies"]["status"] == "warning"
    assert checks["sandbox"]["rule"].startswith("full")
    assert checks["configuration"]["status"] == "error"  # the flat format has no key infer_port
    assert done.returncode == 1
    assert done.stderr == ""


def test_without_a_file_as_text() -> None:
    shown = runner.invoke(app, ["doctor"])
    assert shown.exit_code in (0, 1)
    assert shown.output.splitlines()[0].startswith("ok       python: ")


def test_a_file_that_is_not_there_is_an_error_without_a_traceback() -> None:
    shown = runner.invoke(app, ["doctor", "/nowhere/config.yaml"])
    assert shown.exit_code == 1
    assert "error    configuration: 1 error" in shown.output
    assert "fix: agentic-rl check /nowhere/config.yaml" in shown.output
