"""Generates on servers of vLLM over HTTP: retries, failover, and a trajectory stays with its server."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from itertools import count

from agentic_rl.rollout.engines.base import Completion, OnTokens, PromptTooLongError, SamplingParams
from agentic_rl.rollout.engines.exactness import require_exact
from agentic_rl.rollout.engines.http_answers import most_bytes, read_answer, write_body
from agentic_rl.rollout.engines.http_faults import Backoff, NoServerError, ServerFaultError
from agentic_rl.rollout.engines.http_pool import ServerPool
from agentic_rl.rollout.engines.http_prefill import Prefill
from agentic_rl.rollout.engines.http_servers import Server, server_urls
from agentic_rl.rollout.engines.http_stream import AnswerStream
from agentic_rl.rollout.engines.http_wire import Wire
from agentic_rl.rollout.engines.requests import check_sampling


class HttpEngine:
    """An `Engine` whose tokens come from one or several vLLM servers of one model.

    Make one with `connect`; it belongs to the event loop that ran then. The servers hold weights of their own, so
    `weights_changed` does nothing.
    """

    def __init__(
        self, pool: ServerPool, prefill: Prefill | None, *, tries: int, backoff: Backoff, exact_logprobs: bool
    ) -> None:
        self._pool = pool
        self._prefill = prefill
        self._tries = tries
        self._backoff = backoff
        self._exact = exact_logprobs

    @classmethod
    async def connect(
        cls,
        servers: Sequence[str],
        *,
        prefill_servers: Sequence[str] = (),
        model: str | None = None,
        api_key: str | None = None,
        tries: int = 6,
        try_timeout: float = 300.0,
        patience: float = 120.0,
        check_every: float = 5.0,
        connections: int = 4096,
        exact_logprobs: bool = True,
        backoff: Backoff | None = None,
    ) -> HttpEngine:
        """Check the servers, and return an engine as soon as one of them is well; the others join when they are.

        Args:
            servers: `host:port` or URLs. With `prefill_servers`, those that only decode.
            prefill_servers: those that read the prompts and hand what they have read to `servers` through a
                connector of vLLM; empty: `servers` do both.
            model: the name under which they serve the model; None: the only one they have.
            api_key: sent as bearer token.
            tries: how often a request is sent at most; each time to the best server then.
            try_timeout: seconds that one try may take; a whole turn has to fit in.
            patience: seconds to wait for a server while all are down.
            check_every: seconds between two checks of a server; three without an answer, of up to 10 s each, and its
                requests go elsewhere.
            connections: how many requests are on their way at once at most, each on a connection of its own.
            exact_logprobs: refuse calls whose log-probabilities the servers can't give as `Completion.logprobs` is
                defined; False (for evaluation, where they are not used): take what they give.
            backoff: waits between tries.

        Raises:
            ServerUnsuitableError: a server can't do what is needed, such as give token ids.
            ServerRefusedError: a server wants another key.
            NoServerError: no server answered.
        """
        if not servers or tries < 1:
            raise ValueError(f"an engine needs one server and one try at least, not {len(servers)} and {tries}")
        slots = asyncio.Semaphore(connections)

        def pool(addresses: Sequence[str]) -> ServerPool:
            return ServerPool(
                [Server(url, Wire(url, slots, api_key)) for url in server_urls(addresses)],
                model=model,
                try_timeout=try_timeout,
                patience=patience,
                check_every=check_every,
            )

        prefill = Prefill(pool(prefill_servers)) if prefill_servers else None
        engine = cls(pool(servers), prefill, tries=tries, backoff=backoff or Backoff(), exact_logprobs=exact_logprobs)
        try:
            await asyncio.gather(*(one.start() for one in engine._pools))
        except BaseException:
            await engine.close()
            raise
        return engine

    @property
    def max_model_len(self) -> int:
        """The least of the servers'."""
        return min(pool.max_model_len for pool in self._pools)

    @property
    def servers(self) -> Sequence[Server]:
        """The servers and how they fare, those for prefill last."""
        return [server for pool in self._pools for server in pool.servers]

    async def generate(
        self,
        prompt: Sequence[int],
        sampling: SamplingParams,
        *,
        session: str | None = None,
        on_tokens: OnTokens | None = None,
    ) -> Completion:
        """Continue `prompt` on the session's server; see `Engine.generate`.

        With `on_tokens`, answers are streamed, and a try that fails after its first tokens is gone on with from there.

        Raises:
            PromptTooLongError: the prompt has `max_model_len` tokens or more.
            ValueError: the prompt is empty, or a sampling value is out of range or asks for log-probabilities that
                the servers can't give.
            ServerFaultError: every try failed.
            ServerRefusedError: the server says that the request is wrong.
            EngineClosedError: the engine is closed.
        """
        sampling = self._checked(prompt, sampling)
        stream = None if on_tokens is None else AnswerStream(prompt, sampling, on_tokens)
        for tries in count(1):
            try:
                if stream is not None:
                    if stream.ended:  # by the last token that came, before a try failed
                        return stream.completion()
                    prompt, sampling = stream.rest()
                return await self._try(prompt, sampling, session, stream)
            except NoServerError:
                raise
            except ServerFaultError as fault:
                if tries >= self._tries:
                    raise ServerFaultError(f"{tries} tries failed, the last one so: {fault}") from fault
                wait = self._backoff.seconds(tries, fault)
            await asyncio.sleep(wait)
        raise AssertionError  # count has no end

    def release(self, session: str) -> None:
        """Forget which server the session belongs to; the server drops its cache when it needs the room."""
        for pool in self._pools:
            pool.release(session)

    def weights_changed(self) -> None:
        """Do nothing: the weights are the servers' affair."""

    async def close(self) -> None:
        """Stop checking, and close all connections; requests on their way fail."""
        for pool in self._pools:
            await pool.close()

    @property
    def _pools(self) -> list[ServerPool]:
        return [self._pool] if self._prefill is None else [self._pool, self._prefill.pool]

    async def _try(
        self, prompt: Sequence[int], sampling: SamplingParams, session: str | None, stream: AnswerStream | None
    ) -> Completion:
        more = {} if self._prefill is None else await self._prefill.read(prompt, sampling, session)
        server = await self._pool.choose(session)
        if self._exact:
            require_exact(sampling, server.url, processed=server.processed_logprobs)
        request_id = str(more.pop("request_id", ""))
        if stream is not None:
            more["stream"] = True
        payload = await self._pool.post(
            server,
            write_body(str(self._pool.model), prompt, sampling, **more),
            limit=most_bytes(prompt, sampling),
            request_id=request_id,
            on_body=None if stream is None else stream.feed,
        )
        try:
            completion = read_answer(payload, prompt, sampling) if stream is None else stream.completion()
        except ServerFaultError as fault:
            self._pool.failed(server, fault)
            raise
        self._pool.answered(server)
        return completion

    def _checked(self, prompt: Sequence[int], sampling: SamplingParams) -> SamplingParams:
        """Refuse what no server could answer, and cut `max_tokens` to what fits."""
        check_sampling(sampling)
        room = self.max_model_len - len(prompt)
        if not prompt:
            raise ValueError("the prompt is empty; an engine needs at least one token to continue")
        if room < 1:
            raise PromptTooLongError(
                f"the prompt has {len(prompt)} tokens, but the servers' max_model_len is {self.max_model_len}; "
                "shorten the prompt or serve the model with a larger --max-model-len"
            )
        return sampling if sampling.max_tokens <= room else replace(sampling, max_tokens=room)
