"""The one thing a user writes: an agent, which talks to the policy and says what the rollout earned."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from agentic_rl.agents.task import Message, Task
from agentic_rl.agents.tool import Tool

ToolSpec = Tool | Mapping[str, Any]
"""A tool, or its description in OpenAI's form."""


class ChatModel(Protocol):
    """The policy of one rollout. Every token that it writes or is shown is recorded behind `chat`."""

    metrics: dict[str, Any]
    """Numbers to keep with the trajectory; an agent may add its own."""

    @property
    def base_url(self) -> str:
        """An address of the policy for any client of OpenAI's API, for this rollout alone.

        What comes in there is recorded as calls of `chat` are, whatever the client does with the history. The first
        look starts the server. A blocking client must run in a thread, or `run` be written without `async`.

        Raises:
            GatewayMissingError: the extra `gateway` is not installed.
        """
        ...

    @property
    def api_key(self) -> str:
        """The key that goes with `base_url`."""
        ...

    async def chat(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec] | None = None, **sampling: Any
    ) -> Message:
        """Let the policy write the next turn of the conversation.

        Args:
            messages: the whole conversation so far; it must begin with what earlier calls were given and
                returned, unchanged.
            tools: what the policy may call; the same in every call of a rollout.
            **sampling: max_tokens, temperature, top_k, top_p, min_p, seed, stop or stop_token_ids of this call only;
                `chat_template_kwargs`: variables of the chat template, such as `enable_thinking`.

        Returns:
            The assistant's message: `content` (text outside tool calls), `finish_reason` (`stop`,
            `tool_calls` or `length`) and, if there are any, `tool_calls` in OpenAI's form. A call that could not
            be read is among them, with an `error` that says why.

        Raises:
            BudgetExhaustedError: no tokens or no turns are left.
            HistoryEditedError: the messages do not continue the recorded conversation.
            LateError: the call took longer than `turn_timeout`.
        """
        ...

    async def ask(self, messages: Sequence[Message], **sampling: Any) -> tuple[Message, str]:
        """Let the policy answer a conversation that need not continue the earlier ones, without tools.

        For agents that choose anew what the policy is shown. Messages that do continue an earlier call keep its tokens;
        others begin a new segment of the trajectory, which is learned from as well.

        Returns:
            The assistant's message as of `chat`, and the whole text that the policy wrote, calls of tools included.

        Raises:
            BudgetExhaustedError, LateError: as with `chat`.
        """
        ...

    def reward_step(self, reward: float) -> None:
        """Note what the latest turn earned; notes on one turn add up.

        It is kept in `Trajectory.steps`, for people and for metrics. Nothing is learned from it: every turn of a
        rollout is learned from with the reward that `run` returns.

        Raises:
            ValueError: not a finite number.
            RuntimeError: the policy has not had a turn.
        """
        ...


class Agent(ABC):
    """Runs one task against the policy. One object runs many tasks at the same time: keep no state in it."""

    @abstractmethod
    async def run(self, task: Task, model: ChatModel) -> float:
        """Do `task` by calling `model.chat` as often as needed; return the reward, a finite number.

        Written without `async` it runs in a thread of its own, where a client of `model.base_url` may block.
        """

    def cut_short(self, task: Task, messages: Sequence[Message]) -> float:
        """Return the reward of a rollout whose budget ended inside `run`, without `run` handling it."""
        return 0.0

    async def close(self) -> None:  # noqa: B027 - many have nothing to free
        """Free what the agent holds between rollouts, such as servers of tools. Called once, after the last one."""
