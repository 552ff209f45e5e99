"""The whole program in serve mode: started by its command line, used over HTTP, and ended by a signal."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from agent_instances import model_server, tokenizer_folder
from fake_streams import StreamServer
from fake_vllm import FakeServer
from serve_doubles import events_of

pytestmark = pytest.mark.integration
TESTS = Path(__file__).parents[2]

CONFIG = """\
agentic_ai:
  mode: serve
  log_level: INFO
  log_dir: {folder}
serve_conf:
  host: {host}
  port: {port}
agent_instances:
  - name: HELPER
    executor_kwargs:
      agent_engine: rllm
      agent_engine_kwargs:
        agent_name: agent_instances:{agent}
        max_prompt_length: 1024
        max_model_len: 2048
        tokenizer: {folder}/tokenizer
      infer_service_params:
        temperature: 0.5
        max_tokens: 256
        model: SMALL
infer_instances:
  - name: SMALL
    executor_kwargs:
      engine_kwargs:
        chat_server: {model}
        model_name: policy
  - name: STREAM
    executor_kwargs:
      engine_kwargs:
        chat_server: [{stream}]
        model_name: policy
"""


@dataclass
class Program:
    process: asyncio.subprocess.Process
    client: httpx.AsyncClient
    folder: Path

    async def output(self) -> str:
        """All that it has printed, once it has ended."""
        assert self.process.stdout is not None
        return (await self.process.stdout.read()).decode()


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@asynccontextmanager
async def program(
    folder: Path,
    model: FakeServer,
    stream: StreamServer,
    *arguments: str,
    host: str = "127.0.0.1",
    agent: str = "Calculating",
) -> AsyncIterator[Program]:
    port = free_port()
    folder.chmod(0o750)
    tokenizer_folder(folder)
    file = folder / "serve.yaml"
    given = {"folder": folder, "host": host, "port": port, "agent": agent}
    file.write_text(CONFIG.format(**given, model=model.url, stream=stream.url))
    file.chmod(0o640)
    environment = {**os.environ, "PYTHONPATH": str(TESTS)}
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "agentic_rl", "--config-path", str(file), *arguments),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        env=environment,
        cwd=folder,
    )
    try:
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=60, trust_env=False) as client:
            await up(process, client)
            yield Program(process, client, folder)
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def up(process: asyncio.subprocess.Process, client: httpx.AsyncClient) -> None:
    until = time.monotonic() + 120
    while time.monotonic() < until:
        if process.returncode is not None:
            assert process.stdout is not None
            raise AssertionError((await process.stdout.read()).decode())
        try:
            if (await client.get("/health")).status_code == 200:
                return
        except httpx.TransportError:
            await asyncio.sleep(0.1)
    raise AssertionError("the service does not come up")


def token_of(folder: Path) -> dict[str, str]:
    return {"Authorization": f"Bearer {(folder / 'serve_token').read_text().strip()}"}


def test_a_documented_file_starts_as_it_is_and_drains_on_sigterm(tmp_path: Path) -> None:
    async def main() -> None:
        async with (
            model_server() as model,
            StreamServer(interval=0.1, tokens=20) as stream,
            program(tmp_path, model, stream, host="0.0.0.0") as running,
        ):
            client = running.client
            assert (await client.get("/v1/models")).status_code == 401
            client.headers.update(token_of(tmp_path))
            asked = {"agent_name": "HELPER", "problem": "How much is 12*7?", "ground_truth": "84"}
            answer = await client.post("/agent/invoke", json=asked)
            assert events_of(answer.text)[-1][1]["reward"] == 1.0
            body = {"model": "STREAM", "stream": True, "messages": []}
            async with client.stream("POST", "/v1/chat/completions", json=body) as begun:
                parts = begun.aiter_bytes()
                await anext(parts)
                running.process.send_signal(signal.SIGTERM)
                text = b"".join([part async for part in parts])
            assert text.endswith(b"data: [DONE]\n\n")  # what had begun went on to its end
            assert await asyncio.wait_for(running.process.wait(), 60) == 0
            output = await running.output()
            assert f"the token is in {tmp_path}/serve_token" in output
            assert token_of(tmp_path)["Authorization"].split()[1] not in output
            assert "ready: http://0.0.0.0:" in (tmp_path / "serve.log").read_text()
            with pytest.raises(httpx.ConnectError):
                await client.get("/health")

    asyncio.run(main())


def test_an_address_that_is_taken_is_a_finding(tmp_path: Path) -> None:
    async def main() -> None:
        async with model_server() as model, StreamServer() as stream, program(tmp_path, model, stream) as running:
            again = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "agentic_rl", "--config-path", str(tmp_path / "serve.yaml"), "--insecure"),
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
                env={**os.environ, "PYTHONPATH": str(TESTS)},
            )
            output = (await again.communicate())[0].decode()
            assert again.returncode == 1
            assert "Traceback" not in output
            assert str(running.client.base_url.port) in output
            assert "ARL" in output

    asyncio.run(main())


def test_what_can_not_be_served_is_found_at_its_line(tmp_path: Path) -> None:
    async def main() -> str:
        async with model_server() as model, StreamServer() as stream:
            with pytest.raises(AssertionError) as caught:
                async with program(tmp_path, model, stream, agent="nobody"):
                    raise NotImplementedError
            return str(caught.value)

    output = asyncio.run(main())
    line = (tmp_path / "serve.yaml").read_text().split("\n").index("        agent_name: agent_instances:nobody") + 1
    assert f"serve.yaml:{line}:" in output
    assert "ARL705" in output
    assert "Traceback" not in output
