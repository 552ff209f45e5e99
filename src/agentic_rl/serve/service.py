"""One service: what it needs comes up, requests are answered until a signal comes, and everything ends."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import os
import signal
import socket
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack

import uvicorn

from agentic_rl.config.diagnostics import ConfigError
from agentic_rl.serve.access import Access, access_on
from agentic_rl.serve.agents.pool import AgentPool
from agentic_rl.serve.app import application
from agentic_rl.serve.boundary import Boundary, Limits
from agentic_rl.serve.executors import Executors
from agentic_rl.serve.findings import LOG_REFUSED, NO_TOKEN, error, finding
from agentic_rl.serve.jobs import Jobs, command_for
from agentic_rl.serve.listening import listening
from agentic_rl.serve.logs import log_to
from agentic_rl.serve.metrics import Metrics
from agentic_rl.serve.settings import Settings, Train
from agentic_rl.serve.upstreams import Upstream, new_session

_LOGGER = logging.getLogger(__name__)
DRAIN_SECONDS = 60
"""How long requests may go on after a signal."""
_IDLE_SECONDS = 75


def run_service(settings: Settings, *, insecure: bool = False, environ: Mapping[str, str] | None = None) -> int:
    """Serve until SIGTERM or SIGINT; the exit status.

    Raises:
        ConfigError: the log, the address, the token, an agent, a model server or an executor can't be had.
    """
    try:
        log_to(settings.log_dir, settings.log_level)
    except OSError as problem:
        message = f"{problem.filename or settings.log_dir} can't be written: {problem.strerror or problem}"
        raise error(LOG_REFUSED, "agentic_ai.log_dir", message, "name a folder that you may write to") from None
    access = access_on(settings.host, settings.log_dir, os.environ if environ is None else environ, insecure=insecure)
    with listening(settings.host, settings.port) as bound:
        _tell(settings, access, bound)
        try:
            asyncio.run(_Service(settings, access).run(bound))
        except asyncio.CancelledError:
            _LOGGER.info("stopped before everything was up")
            return 130
    return 0


class _Service:
    """What lives as long as requests are answered."""

    def __init__(self, settings: Settings, access: Access) -> None:
        self._settings = settings
        self._access = access
        self._server: uvicorn.Server | None = None

    async def run(self, bound: socket.socket) -> None:
        """Bring everything up, answer requests, end everything."""
        starting = asyncio.current_task()
        loop = asyncio.get_running_loop()

        def stop() -> None:  # once the server is there, it takes the signals itself
            if self._server is None and starting is not None:
                starting.cancel()

        for number in (signal.SIGTERM, signal.SIGINT):
            with contextlib.suppress(ValueError, RuntimeError):  # outside the main thread the program around us decides
                loop.add_signal_handler(number, stop)
        async with AsyncExitStack() as stack:
            app = await self._up(stack)
            gc.collect()
            gc.freeze()  # what is there now stays: looking through all of it would hold up every stream for long
            self._server = uvicorn.Server(uvicorn_settings(app, self._settings.log_level))
            _LOGGER.info("ready: %s", ", ".join(_addresses(bound)))
            await self._server.serve(sockets=[bound])
            _LOGGER.info("no further requests; jobs and executors end")

    async def _up(self, stack: AsyncExitStack) -> Boundary:
        settings, metrics = self._settings, Metrics()
        session = await stack.enter_async_context(new_session())
        executors = Executors(settings.log_dir)
        stack.push_async_callback(executors.close)
        infers = await asyncio.gather(*(executors.engine(one) for one in settings.infers))
        served = {one.name: one for one in infers}
        pools = {}
        for one in settings.agents:
            instance = one.served_by(served[one.infer.name])
            pools[one.name] = AgentPool(instance, await executors.agents(instance), metrics)
        jobs = Jobs(settings, metrics, command_for(settings), _placing(executors))
        stack.push_async_callback(jobs.close)
        upstreams = {one.name: Upstream(one, session, metrics) for one in infers}
        return application(
            upstreams=upstreams, pools=pools, jobs=jobs, metrics=metrics, access=self._access, limits=Limits()
        )


class PlaceError(RuntimeError):
    """The cluster has not what a job asks for."""


def _placing(executors: Executors) -> Callable[[Train], None]:
    def place(train: Train) -> None:
        try:
            executors.hold(train)
        except ConfigError as problem:
            raise PlaceError(str(problem)) from None

    return place


def uvicorn_settings(app: Boundary, level: str) -> uvicorn.Config:
    """How the application is served."""
    return uvicorn.Config(
        app,
        http="httptools",
        ws="none",
        loop="asyncio",
        lifespan="off",
        proxy_headers=False,
        log_config=None,
        log_level=level.lower(),
        access_log=level == "DEBUG",
        server_header=False,
        date_header=False,
        timeout_keep_alive=_IDLE_SECONDS,
        timeout_graceful_shutdown=DRAIN_SECONDS,
    )


def _addresses(bound: socket.socket) -> list[str]:
    host, port = bound.getsockname()[:2]
    return [f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"]


def _tell(settings: Settings, access: Access, bound: socket.socket) -> None:
    (address,) = _addresses(bound)
    print(f"serving on {address}, log in {settings.log_dir}", flush=True)
    if access.token:
        print(f"the token is {access.told}; send it as Authorization: Bearer TOKEN", flush=True)
    elif access.any_host:
        told = finding(NO_TOKEN, "serve_conf.host", f"{address} asks for no token", "leave out --insecure")
        print(told.to_text(), flush=True)
