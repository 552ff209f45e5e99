"""The gateway of a driver: started when the first agent asks for its address."""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Awaitable, Callable
from functools import partial
from itertools import count
from typing import TYPE_CHECKING

from agentic_rl.rollout.completions import CompletionsFunction
from agentic_rl.rollout.gateway.batch_door import BatchDoor
from agentic_rl.rollout.gateway.door import Door
from agentic_rl.rollout.gateway.faults import ApiError, api_error
from agentic_rl.rollout.gateway.keys import Keys
from agentic_rl.rollout.gateway.spelling import Spelling
from agentic_rl.rollout.segments import Conversation

if TYPE_CHECKING:
    from agentic_rl.rollout.chat import ChatFormat
    from agentic_rl.rollout.gateway.ask import Policy
    from agentic_rl.rollout.gateway.listener import Answer, Call, Listener

_PATH = re.compile(r"(?:/(?P<number>[0-9]{1,18}))?/v1/(?P<what>.+?)/?")


class GatewayMissingError(ImportError):
    """The package of the gateway's server is not installed."""


class Gateway:
    """An OpenAI-compatible server on the loopback interface, on the event loop of the rollouts.

    Each trajectory has a path and a key of its own. Calls of a wrapper come without, on a port for itself.

    Args:
        chat_format: of the policy.
    """

    def __init__(self, chat_format: ChatFormat) -> None:
        self._spelling = Spelling(chat_format.tokenizer)
        self._keys = Keys()
        self._doors: dict[int, Door] = {}
        self._numbers = count(1)
        self._answers = count(1)
        self._lock = threading.Lock()
        self._listener: Listener | None = None
        self._others: list[Listener] = []

    def open(self, conversation: Conversation, loop: asyncio.AbstractEventLoop) -> Door:
        """Give a trajectory its address, from any thread.

        Args:
            conversation: of the trajectory.
            loop: on which it runs.

        Raises:
            GatewayMissingError: the server's package is not installed.
        """
        with self._lock:
            if self._listener is not None and self._listener.loop is not loop:
                self._listener.abandon()
                self._listener = None
            if self._listener is None:
                self._listener = _listener(self._handle, loop)
            number = next(self._numbers)
            url = f"http://{self._listener.address}/{number}/v1"
        door = Door(conversation, url, self._keys.key(number), lambda: self._forget(number))
        self._doors[number] = door
        return door

    def open_batch(self, completions: CompletionsFunction, loop: asyncio.AbstractEventLoop) -> str:
        """Return the address (`ip:port`) at which a wrapper's calls are answered as by `completions`.

        Raises:
            GatewayMissingError: the server's package is not installed.
        """
        listener = _listener(partial(self._handle_batch, BatchDoor(completions)), loop)
        self._others.append(listener)
        return listener.address

    async def close(self) -> None:
        """Stop; the rollouts are over."""
        listeners = [*self._others, *([self._listener] if self._listener else [])]
        self._listener, self._others = None, []
        running = asyncio.get_running_loop()
        for listener in listeners:
            if listener.loop is running:
                await listener.close()
            else:
                listener.abandon()

    def _forget(self, number: int) -> None:
        del self._doors[number]

    async def _handle(self, call: Call) -> Answer:
        return await self._answered(call, self._door)

    async def _handle_batch(self, door: BatchDoor, call: Call) -> Answer:
        return await self._answered(call, lambda number, call: door)

    async def _answered(self, call: Call, policy_of: Callable[[int | None, Call], Policy]) -> Answer:
        from agentic_rl.rollout.gateway.routes import answered, refused

        try:
            if call.from_browser:
                raise ApiError(403, "pages in a browser are not served", code="from_browser")
            path = _PATH.fullmatch(call.path)
            if path is None:
                raise ApiError(404, f"{call.path[:200]} is not served; paths are /NUMBER/v1/...", code="unknown_url")
            policy = policy_of(int(path["number"]) if path["number"] else None, call)
            return await answered(call, path["what"], policy, str(next(self._answers)), self._spelling)
        except Exception as error:
            return refused(api_error(error))

    def _door(self, number: int | None, call: Call) -> Door:
        if number is None or not self._keys.fits(number, call.authorization):
            problem = "the key is missing, or not that of this trajectory; use model.base_url with model.api_key"
            raise ApiError(401, problem, code="invalid_api_key")
        if number not in self._doors:
            raise ApiError(410, "the rollout has ended", code="rollout_ended")
        return self._doors[number]


def _listener(handle: Callable[[Call], Awaitable[Answer]], loop: asyncio.AbstractEventLoop) -> Listener:
    try:
        from agentic_rl.rollout.gateway.listener import Listener
    except ImportError as error:
        raise GatewayMissingError(
            f"the gateway needs aiohttp ({error}); install it: pip install 'agentic-rl[gateway]'"
        ) from error
    return Listener(handle, loop)
