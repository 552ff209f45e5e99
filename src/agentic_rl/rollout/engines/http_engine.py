"""Generates on servers of vLLM over HTTP: retries, failover, and a trajectory stays with its server."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import replace
from itertools import count

from agentic_rl.rollout.engines.base import Completion, EngineClosedError, PromptTooLongError, SamplingParams
from agentic_rl.rollout.engines.http_answers import most_bytes, read_answer, write_body
from agentic_rl.rollout.engines.http_checks import check
from agentic_rl.rollout.engines.http_faults import (
    Backoff,
    NoServerError,
    ServerFaultError,
    ServerGoneError,
    ServerRefusedError,
    ServerUnsuitableError,
)
from agentic_rl.rollout.engines.http_servers import Server, Servers, server_urls
from agentic_rl.rollout.engines.http_wire import Wire
from agentic_rl.rollout.engines.requests import check_sampling

_LOGGER = logging.getLogger(__name__)


class HttpEngine:
    """An `Engine` whose tokens come from one or several vLLM servers of one model.

    Make one with `connect`; it belongs to the event loop that ran then. The servers hold weights of their own, so
    `weights_changed` does nothing.
    """

    def __init__(
        self,
        servers: Servers,
        *,
        model: str | None,
        tries: int,
        try_timeout: float,
        backoff: Backoff,
        patience: float,
        check_every: float,
        exact_logprobs: bool,
    ) -> None:
        self.max_model_len = 0
        self._servers = servers
        self._model = model
        self._tries = tries
        self._try_timeout = try_timeout
        self._backoff = backoff
        self._patience = patience
        self._check_every = check_every
        self._exact = exact_logprobs
        self._checks: dict[Server, asyncio.Task[None]] = {}
        self._closed = False

    @classmethod
    async def connect(
        cls,
        servers: Sequence[str],
        *,
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
            servers: `host:port` or URLs.
            model: the name under which they serve the model; None: the only one they have.
            api_key: sent as bearer token.
            tries: how often a request is sent at most; each time to the best server then.
            try_timeout: seconds that one try may take; a whole turn has to fit in.
            patience: seconds to wait for a server while all are down.
            check_every: seconds between two checks of a server that is down.
            connections: how many requests are on their way at once at most, each on a connection of its own.
            exact_logprobs: refuse calls whose log-probabilities the servers can't give as `Completion.logprobs` is
                defined; False (for evaluation, where they are not used): take what they give.
            backoff: waits between tries.

        Raises:
            ServerUnsuitableError: a server can't do what is needed, such as give token ids.
            ServerRefusedError: a server wants another key.
            NoServerError: no server answered.
        """
        urls = server_urls(servers)
        if not urls or tries < 1:
            raise ValueError(f"an engine needs one server and one try at least, not {len(urls)} and {tries}")
        slots = asyncio.Semaphore(connections)
        engine = cls(
            Servers([Server(url, Wire(url, slots, api_key)) for url in urls]),
            model=model,
            tries=tries,
            try_timeout=try_timeout,
            backoff=backoff or Backoff(),
            patience=patience,
            check_every=check_every,
            exact_logprobs=exact_logprobs,
        )
        try:
            await engine._start()
        except BaseException:
            await engine.close()
            raise
        return engine

    @property
    def servers(self) -> Sequence[Server]:
        """The servers and how they fare."""
        return self._servers.all

    async def generate(
        self, prompt: Sequence[int], sampling: SamplingParams, *, session: str | None = None
    ) -> Completion:
        """Continue `prompt` on the session's server; see `Engine.generate`.

        Raises:
            PromptTooLongError: the prompt has `max_model_len` tokens or more.
            ValueError: the prompt is empty, or a sampling value is out of range or asks for log-probabilities that
                the servers can't give.
            ServerFaultError: every try failed.
            ServerRefusedError: the server says that the request is wrong.
            EngineClosedError: the engine is closed.
        """
        sampling = self._checked(prompt, sampling)
        body = write_body(str(self._model), prompt, sampling)
        for tries in count(1):
            try:
                return await self._try(body, prompt, sampling, session)
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
        self._servers.release(session)

    def weights_changed(self) -> None:
        """Do nothing: the weights are the servers' affair."""

    async def close(self) -> None:
        """Stop checking, and close all connections; requests on their way fail."""
        self._closed = True
        checks = list(self._checks.values())
        for task in checks:
            task.cancel()
        await asyncio.gather(*checks, return_exceptions=True)
        for server in self.servers:
            server.wire.close()

    async def _try(
        self, body: bytes, prompt: Sequence[int], sampling: SamplingParams, session: str | None
    ) -> Completion:
        server = await self._servers.choose(session, self._patience)
        if self._exact:
            _require_exact(server, sampling)
        if self._closed:
            raise EngineClosedError("the engine is closed")
        server.in_flight += 1
        try:
            payload = await server.wire.post(
                "/v1/completions", body, limit=most_bytes(prompt, sampling), seconds=self._try_timeout
            )
            completion = read_answer(payload, prompt, sampling)
        except ServerFaultError as fault:
            if self._closed:
                raise EngineClosedError("the engine is closed") from fault
            if self._servers.failed(server, fault, gone=isinstance(fault, ServerGoneError)):
                _LOGGER.warning("a server is down: %s", fault)
                self._watch(server)
            raise
        finally:
            server.in_flight -= 1
        self._servers.worked(server)
        return completion

    def _checked(self, prompt: Sequence[int], sampling: SamplingParams) -> SamplingParams:
        """Refuse what no server could answer, and cut `max_tokens` to what fits."""
        if self._closed:
            raise EngineClosedError("the engine is closed")
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

    async def _start(self) -> None:
        results = await asyncio.gather(*(self._check(server) for server in self.servers), return_exceptions=True)
        for server, result in zip(self.servers, results, strict=True):
            if isinstance(result, ServerFaultError):
                server.last_fault = str(result)
            elif result is not None:
                raise result
        if not any(server.up for server in self.servers):
            raise NoServerError(
                "no server answers; start one, or correct the addresses: "
                + "; ".join(server.last_fault for server in self.servers)
            )
        for server in self.servers:
            if not server.up:
                _LOGGER.warning("a server is down: %s", server.last_fault)
                self._watch(server)

    async def _check(self, server: Server) -> None:
        abilities = await check(server, self._model, self._try_timeout)
        length = abilities.max_model_len
        if length is None:
            raise ServerUnsuitableError(
                f"{server.url} does not say its max_model_len; serve the model with vLLM 0.10.2 or newer"
            )
        self._model = abilities.model
        self.max_model_len = min(length, self.max_model_len or length)
        server.processed_logprobs = abilities.processed_logprobs
        self._servers.back(server)

    def _watch(self, server: Server) -> None:
        """Check a server that is down until it is well."""
        if server not in self._checks:
            self._checks[server] = asyncio.ensure_future(self._until_well(server))

    async def _until_well(self, server: Server) -> None:
        try:
            while not self._closed:
                try:
                    await self._check(server)
                except (ServerFaultError, ServerRefusedError, ServerUnsuitableError) as error:
                    server.last_fault = str(error)
                    await asyncio.sleep(self._check_every)
                    continue
                _LOGGER.info("%s is up", server.url)
                return
        finally:
            del self._checks[server]


def _require_exact(server: Server, sampling: SamplingParams) -> None:
    """Refuse sampling whose log-probabilities the server gives at another temperature or after a filter."""
    if sampling.temperature == 0:
        return
    filtered = sampling.top_k > 0 or sampling.top_p < 1 or sampling.min_p > 0
    if server.processed_logprobs and filtered:
        problem = "are those after top_k, top_p and min_p; turn these three off"
    elif not server.processed_logprobs and sampling.temperature != 1:
        problem = "are those of temperature 1; start it with --logprobs-mode processed_logprobs, or sample at 1"
    else:
        return
    raise ValueError(
        f"temperature {sampling.temperature:g}: the log-probabilities of {server.url} {problem}, or, where nothing "
        "is trained on them, connect with exact_logprobs=False"
    )
