"""Servers that only read prompts: what they have read goes to those that decode, through a connector of vLLM."""

from __future__ import annotations

import json
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from agentic_rl.rollout.engines.base import SamplingParams
from agentic_rl.rollout.engines.http_answers import most_bytes, read_answer, write_body
from agentic_rl.rollout.engines.http_faults import ServerFaultError, ServerUnsuitableError
from agentic_rl.rollout.engines.http_pool import ServerPool

_ELSEWHERE = {
    "do_remote_decode": True,
    "do_remote_prefill": False,
    "remote_engine_id": None,
    "remote_block_ids": None,
    "remote_host": None,
    "remote_port": None,
}
"""Asks a server to keep what it has read for another one, and to say how that gets it."""


@dataclass(frozen=True)
class Prefill:
    """Asks servers to read prompts."""

    pool: ServerPool

    async def read(self, prompt: Sequence[int], sampling: SamplingParams, session: str | None) -> dict[str, Any]:
        """Let a prompt be read; return what the request to decode it needs: `kv_transfer_params` and `request_id`.

        Raises:
            ServerFaultError: it failed, but may work another time.
            ServerUnsuitableError: the server does not hand over what it has read.
        """
        one = replace(sampling, max_tokens=1, stop_token_ids=())
        request_id = uuid.uuid4().hex  # both servers must know the request by the same one
        more = {"ignore_eos": True, "kv_transfer_params": _ELSEWHERE}
        server = await self.pool.choose(session)
        body = write_body(str(self.pool.model), prompt, one, **more)
        payload = await self.pool.post(server, body, limit=most_bytes(prompt, one), request_id=request_id)
        try:
            read_answer(payload, prompt, one)
        except ServerFaultError as fault:
            self.pool.failed(server, fault)
            raise
        self.pool.answered(server)
        handed_over = json.loads(payload).get("kv_transfer_params")
        if not handed_over:
            raise ServerUnsuitableError(
                f"{server.url} keeps what it has read to itself; start it, and those that decode, with "
                "--kv-transfer-config, or leave prefill_servers out"
            )
        return {"kv_transfer_params": handed_over, "request_id": request_id}
