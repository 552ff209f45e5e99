"""Model servers that the service starts itself: `vllm_mp` and `vllm_ray`."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import socket
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from agentic_rl.serve.process import Process
from agentic_rl.serve.settings import Infer

_LOOK_SECONDS = 1.0
_LOG_TAIL = 2000
_BACKENDS = {"vllm_mp": "mp", "vllm_ray": "ray"}


class EngineError(RuntimeError):
    """A model server did not come up; the text has the end of its log."""


def command(infer: Infer, host: str, port: int) -> list[str]:
    """The command of one server; vLLM's own options are passed on by their names."""
    options = {"distributed_executor_backend": _BACKENDS.get(infer.engine), **infer.options}
    own = [sys.executable, "-m", "vllm.entrypoints.cli.main", "serve", infer.path]
    return [
        *own,
        "--served-model-name",
        infer.model,
        "--host",
        host,
        "--port",
        str(port),
        *(argument for name, value in options.items() for argument in _option(name, value)),
    ]


def _option(name: str, value: Any) -> Iterator[str]:
    flag = name.replace("_", "-")
    if value is None:
        return
    if isinstance(value, bool):
        yield f"--{flag}" if value else f"--no-{flag}"
        return
    yield f"--{flag}"
    yield json.dumps(value) if isinstance(value, (Mapping, list)) else str(value)


class EngineProcess:
    """One server, in a process of this machine; also the class of Ray actors that start one where they are placed.

    Args:
        infer: the instance.
        number: of the server; it listens on the instance's port and as many further.
        log_dir: where its output goes.
        host: the address that it listens on; empty: that of the instance.
    """

    def __init__(self, infer: Infer, number: int, log_dir: str, host: str = "") -> None:
        self._infer = infer
        address = urlsplit(infer.servers[0])
        self._host = host or address.hostname or "127.0.0.1"
        self._port = (address.port or 80) + number
        stem = re.sub(r"[^\w.-]", "_", infer.name)
        self._log = Path(log_dir).absolute() / f"engine-{stem}-{number}.log"
        self._process = Process(command(infer, self._host, self._port), self._log)

    async def ready(self) -> str:
        """Wait until it answers; its address.

        Raises:
            EngineError: it ended.
        """
        while not await _answers(self._host, self._port):
            if self._process.status is not None:
                raise EngineError(f"{self._infer.name} ended with status {self._process.status}: {self._end_of_log()}")
            await asyncio.sleep(_LOOK_SECONDS)
        return f"http://[{self._host}]:{self._port}" if ":" in self._host else f"http://{self._host}:{self._port}"

    async def close(self) -> None:
        """End it."""
        await self._process.end(ask=20.0, insist=5.0)

    def _end_of_log(self) -> str:
        with contextlib.suppress(OSError):
            return self._log.read_text(errors="replace")[-_LOG_TAIL:].strip()
        return ""


class EngineActor(EngineProcess):
    """A server where Ray has placed it; it listens on the address of that node."""

    def __init__(self, infer: Infer, number: int, log_dir: str) -> None:
        from ray.util import get_node_ip_address

        super().__init__(infer, number, log_dir, get_node_ip_address())


async def _answers(host: str, port: int) -> bool:
    """Whether a server of vLLM says on its address that it is well."""
    try:
        reader, writer = await asyncio.open_connection(host, port)
    except (OSError, socket.gaierror):
        return False
    try:
        writer.write(f"GET /health HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
        return b" 200 " in await reader.readline()
    except OSError:
        return False
    finally:
        writer.close()
