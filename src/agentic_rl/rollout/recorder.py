"""The model that an agent talks to: a conversation that only ever grows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from agentic_rl.agents.agent import ToolSpec
from agentic_rl.agents.errors import BudgetExhaustedError, HistoryEditedError, RolloutEndedError
from agentic_rl.agents.task import Message, Task
from agentic_rl.agents.trajectory import Trajectory
from agentic_rl.rollout.branches import Branch, first_difference
from agentic_rl.rollout.chat import ChatFormat, tool_schemas
from agentic_rl.rollout.engines.base import Engine
from agentic_rl.rollout.gateway.door import Door
from agentic_rl.rollout.limits import Limits
from agentic_rl.rollout.segments import Conversation, Reply
from agentic_rl.rollout.step_rewards import StepRewards


class Recorder:
    """A `ChatModel` for one rollout: a strict view of its conversation, which refuses an edited history.

    Clients that come through a door, which `open_door` makes, may edit it: every version is kept as a segment.
    """

    def __init__(
        self,
        engine: Engine,
        chat_format: ChatFormat,
        limits: Limits,
        task: Task,
        session: str,
        *,
        open_door: Callable[[Conversation], Door] | None = None,
        conversation: type[Conversation] = Conversation,
    ) -> None:
        self.conversation = conversation(engine, chat_format, limits, task, session)
        self.fault: Exception | None = None
        """What the agent did wrong with the model, whether or not it let the exception through."""
        self._branch: Branch | None = None
        self._tools: Sequence[ToolSpec] | None = None
        self._options: Any = None
        self._step_rewards = StepRewards()
        self._busy = False
        self._open_door = open_door
        self._opened: Door | None = None

    @property
    def metrics(self) -> dict[str, Any]:
        """Numbers to keep with the trajectory."""
        return self.conversation.metrics

    @metrics.setter
    def metrics(self, metrics: dict[str, Any]) -> None:
        self.conversation.metrics = metrics

    @property
    def base_url(self) -> str:
        """The address of this rollout for clients of OpenAI; see `ChatModel.base_url`."""
        return self._door().base_url

    @property
    def api_key(self) -> str:
        """The key that goes with `base_url`."""
        return self._door().api_key

    @property
    def spent(self) -> bool:
        """Whether a client was told that the budget of the rollout has ended."""
        return self._opened is not None and self._opened.spent

    @property
    def messages(self) -> list[Message]:
        """The conversation so far."""
        return self.conversation.messages if self._branch is None else self._branch.history

    async def chat(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec] | None = None, **sampling: Any
    ) -> Message:
        """Let the policy write the next turn; see `ChatModel.chat`."""
        if self._busy:
            raise RolloutEndedError("chat() is running already; await one call at a time")
        self._busy = True
        try:
            reply = await self._answer(messages, tools, sampling)
        except (BudgetExhaustedError, RolloutEndedError):
            raise
        except Exception as error:
            self.fault = error
            raise
        finally:
            self._busy = False
        self._branch = reply.branch
        return reply.message

    async def ask(self, messages: Sequence[Message], **sampling: Any) -> tuple[Message, str]:
        """Let the policy answer any conversation; see `ChatModel.ask`."""
        reply = await self.conversation.complete(messages, None, **sampling)
        self._branch = reply.branch
        return reply.message, reply.text

    def reward_step(self, reward: float) -> None:
        """Note what the latest turn earned; see `ChatModel.reward_step`."""
        self._step_rewards.note(self.metrics["turns"], reward)

    def end(self) -> None:
        """Refuse further calls and give the engine its cache back."""
        self.conversation.end()
        if self._opened is not None:
            self._opened.close()

    def trajectory(self, reward: float = 0.0) -> Trajectory:
        """Return what was recorded; see `Conversation.trajectory`."""
        return self._with_steps(self.conversation.trajectory(reward))

    def failed(self, error: BaseException, file: str | None = None) -> Trajectory:
        """Return what was recorded until `error` ended it; see `Conversation.failed`."""
        return self._with_steps(self.conversation.failed(error, file))

    def _door(self) -> Door:
        if self._opened is None:
            self.conversation.require_open()
            if self._open_door is None:
                raise RuntimeError("this model has no address: only the driver of rollouts gives one")
            self._opened = self._open_door(self.conversation)
        return self._opened

    def _with_steps(self, trajectory: Trajectory) -> Trajectory:
        for step, reward in zip(trajectory.steps, self._step_rewards.by_turn(), strict=False):
            step.reward = reward
        return trajectory

    async def _answer(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec] | None, sampling: dict[str, Any]
    ) -> Reply:
        self.conversation.require_open()
        options = sampling.get("chat_template_kwargs")
        if self._branch is None:
            self._tools, self._options = tools, options
            return await self.conversation.complete(messages, tools, **sampling)
        self._require_grown(self._branch.history, messages)
        if tools is not self._tools and tool_schemas(tools) != tool_schemas(self._tools):
            raise HistoryEditedError("the tools differ from those of the first call; give the same in every call")
        if options != self._options:  # the template may show everything otherwise
            self._options = options
            return await self.conversation.complete(messages, tools, **sampling)
        sampling.pop("chat_template_kwargs", None)
        return await self.conversation.extend(self._branch, messages, **sampling)

    def _require_grown(self, history: Sequence[Message], messages: Sequence[Message]) -> None:
        """Refuse messages that don't begin with the recorded ones, or add nothing that the policy could answer."""
        place = first_difference(history, messages)
        if place is not None:
            raise HistoryEditedError(
                f"message {place} ({history[place].get('role')}) was changed since the policy saw it; append to the "
                "messages, and keep what chat() was given and returned as it is"
            )
        follow_up = messages[len(history) :]
        if not follow_up:
            raise HistoryEditedError(
                f"chat() was given {len(messages)} messages after {len(history)} recorded ones; append an answer to "
                "the reply before the next call"
            )
        if any(message.get("role") == "assistant" for message in follow_up):
            raise HistoryEditedError("an assistant's message that the policy did not write can't be appended")
