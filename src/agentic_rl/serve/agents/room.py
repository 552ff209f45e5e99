"""Where the rollouts of an agent instance run: one agent, one engine, a bounded number at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

from agentic_rl.agents.closing import close_agent
from agentic_rl.agents.errors import AgentFileError, DuplicateAgentError, NotAnAgentError, UnknownAgentError
from agentic_rl.agents.registry import find_agent
from agentic_rl.agents.task import Task
from agentic_rl.agents.trajectory import Trajectory
from agentic_rl.rollout.chat import ChatFormat
from agentic_rl.rollout.driver import Driver, Runnable
from agentic_rl.rollout.engines.http_engine import HttpEngine
from agentic_rl.rollout.engines.http_faults import ServerFaultError, ServerRefusedError, ServerUnsuitableError
from agentic_rl.rollout.gateway.faults import ApiError
from agentic_rl.rollout.wrapper_runner import takes_batches
from agentic_rl.serve.agents import events
from agentic_rl.serve.agents.call import AgentCall
from agentic_rl.serve.agents.records import Records
from agentic_rl.serve.agents.watching import WATCH, Emit, Watch, WatchedConversation, WatchedEngine
from agentic_rl.serve.findings import AGENT_REFUSED, error
from agentic_rl.serve.settings import AgentInstance

_NO_AGENT = (UnknownAgentError, NotAnAgentError, DuplicateAgentError, ImportError, OSError, ValueError)
_CONNECT_FAULTS = (ServerFaultError, ServerRefusedError, ServerUnsuitableError)


class AgentRoom:
    """Makes the agent once, and runs every call of the instance with it.

    It belongs to the event loop in which it is first used; the engine is connected then.

    Raises:
        ConfigError: the agent or its tokenizer can't be used.
    """

    def __init__(self, instance: AgentInstance, executor: int = 0) -> None:
        self._instance = instance
        kwargs = f"{instance.key}.executor_kwargs"
        self._agent: Runnable = _refused(
            f"{kwargs}.agent_engine_kwargs.agent_name", lambda: find_agent(instance.agent, engine=instance.engine)
        )
        self._format = _refused(f"{kwargs}.agent_engine_kwargs.tokenizer", lambda: _chat_format(instance.tokenizer))
        self._records = _refused(f"{kwargs}.trajectory_save_dir", lambda: Records.of(instance, executor))
        batches = isinstance(self._agent, type) and takes_batches(self._agent)
        # A wrapper that takes batches is one object, made to run one batch at a time.
        self._places = asyncio.Semaphore(1 if batches else instance.n_parallel_agents)
        self._connecting = asyncio.Lock()
        self._engine: HttpEngine | None = None
        self._driver: Driver | None = None

    async def invoke(self, call: AgentCall, emit: Emit) -> str:
        """Run the agent once, and tell what happens; return how the run finished.

        Raises:
            ApiError: the model server can't be used now, or the class of a wrapper can't be made.
        """
        driver = await self._connected()
        watch = Watch(emit, self._format)
        WATCH.set(watch)
        try:
            trajectory = await self._run(driver, call.task())
        except AgentFileError as problem:  # the class of a wrapper, which is made at its first run
            raise ApiError(500, str(problem), code="agent_failed") from problem
        shown = len(call.task().prompt)
        watch.rest(trajectory.chat_completions[shown:])
        if self._records is not None:
            self._records.keep(call, trajectory)
        emit(events.run_result(trajectory, call.sample_id, call.iteration))
        return trajectory.finish_reason

    async def close(self) -> None:
        """Free the agent and the engine."""
        if not isinstance(self._agent, type):
            await close_agent(self._agent)
        if self._driver is not None:
            await self._driver.close()
        if self._engine is not None:
            await self._engine.close()
        if self._records is not None:
            self._records.close()

    async def _run(self, driver: Driver, task: Task) -> Trajectory:
        async with self._places:
            (trajectory,) = await driver.run(self._agent, [task])
        return trajectory

    async def _connected(self) -> Driver:
        async with self._connecting:
            if self._driver is None:
                self._engine = await self._connect()
                self._driver = self._new_driver(self._engine)
            return self._driver

    async def _connect(self) -> HttpEngine:
        infer = self._instance.infer
        apart = bool(infer.prefill and infer.decode)
        try:
            return await HttpEngine.connect(
                infer.decode if apart else infer.servers,
                prefill_servers=infer.prefill if apart else (),
                model=infer.model,
                exact_logprobs=False,  # nothing is learned from them
            )
        except _CONNECT_FAULTS as fault:
            raise ApiError(503, f"the servers of {infer.name!r} can't be used: {fault}", code="no_server") from None

    def _new_driver(self, engine: HttpEngine) -> Driver:
        instance = self._instance
        sampling: dict[str, Any] = dict(instance.sampling)
        room = max(1, instance.max_model_len - instance.max_prompt_length)
        most = min(int(sampling.pop("max_tokens", room)), room)
        return Driver(
            WatchedEngine(engine),
            self._format,
            max_prompt_length=instance.max_prompt_length,
            max_response_length=room,
            max_tokens=most,
            max_steps=instance.max_steps,
            n_parallel_agents=instance.n_parallel_agents,
            agent_name=instance.agent,
            conversation=WatchedConversation,
            **sampling,
        )


def _chat_format(tokenizer: str) -> ChatFormat:
    from transformers import AutoTokenizer

    if not Path(tokenizer).is_dir():  # otherwise it were looked up on the network
        raise ValueError(f"{tokenizer} is no folder")
    return ChatFormat(AutoTokenizer.from_pretrained(tokenizer, local_files_only=True))


def _refused(key: str, make: Callable[[], Any]) -> Any:
    try:
        return make()
    except _NO_AGENT as problem:
        raise error(AGENT_REFUSED, key, f"{type(problem).__name__}: {problem}", "correct the value") from problem
