"""Provoking, for real, what is said when a service starts."""

from __future__ import annotations

import contextlib
import io
import re
import socket
import sys
from pathlib import Path
from typing import Any

import pytest

from agentic_rl import serve
from agentic_rl.config.diagnostics import ConfigError
from agentic_rl.config.load import load
from agentic_rl.serve import service


class Quiet:
    """A service that ends as soon as it has begun."""

    def __init__(self, *given: Any) -> None:
        """Needs nothing."""

    async def run(self, bound: socket.socket) -> None:
        """Answer nobody."""


def said(log_dir: Path, port: int = 0, *, insecure: bool = False) -> set[str]:
    """The codes of all that a service says or refuses."""
    config = log_dir.parent / "config.yaml"
    config.write_text(f"agentic_ai: {{mode: serve, log_dir: {log_dir}}}\nserve_conf: {{port: {port or free_port()}}}\n")
    printed = io.StringIO()
    try:
        with contextlib.redirect_stdout(printed):
            serve.run(load(config, environ={}, files=False), insecure=insecure)
    except ConfigError as refused:
        return {finding.code for finding in refused.report}
    return set(re.findall(r"ARL\d{3}", printed.getvalue()))


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("", 0))
        return int(probe.getsockname()[1])


def without_packages(home: Path, monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Python's own way of saying that a module can't be imported."""
    monkeypatch.setitem(sys.modules, "fastapi", None)
    return said(home)


def taken(home: Path, monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Somebody listens already."""
    monkeypatch.setattr(service, "log_to", lambda *given: None)
    with socket.socket() as other:
        other.bind(("", 0))
        other.listen()
        return said(home, other.getsockname()[1])


def insecure(home: Path, monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Nobody is asked for a token."""
    monkeypatch.setattr(service, "log_to", lambda *given: None)
    monkeypatch.setattr(service, "_Service", Quiet)
    return said(home, insecure=True)


def no_log(home: Path, monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The folder of the log is a file."""
    (home / "file").touch()
    return said(home / "file")


PROVOKED = {"ARL700": without_packages, "ARL701": taken, "ARL703": insecure, "ARL710": no_log}
