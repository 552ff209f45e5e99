"""The model that an agent talks to: it records every token of one rollout as it was sampled or shown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agentic_rl.agents.agent import ToolSpec
from agentic_rl.agents.deadline import Deadline
from agentic_rl.agents.errors import (
    BudgetExhaustedError,
    HistoryEditedError,
    LateError,
    RolloutEndedError,
    StepLimitError,
)
from agentic_rl.agents.file_loader import with_own_line
from agentic_rl.agents.task import Message, Task
from agentic_rl.agents.trajectory import FinishReason, Trajectory
from agentic_rl.rollout.chat import ChatFormat, Dialog, tool_schemas
from agentic_rl.rollout.engines.base import Completion, Engine
from agentic_rl.rollout.limits import Limits
from agentic_rl.rollout.tool_calls import as_openai, parse_tool_calls


class Recorder:
    """A `ChatModel` for one rollout. Tokens are only ever appended; nothing is tokenized twice."""

    def __init__(self, engine: Engine, chat_format: ChatFormat, limits: Limits, task: Task, session: str) -> None:
        self.metrics: dict[str, Any] = {"turns": 0, "tool_calls": 0, "malformed_tool_calls": 0}
        self.session = session
        self.fault: Exception | None = None
        """What the agent did wrong with the model, whether or not it let the exception through."""
        self._engine = engine
        self._format = chat_format
        self._limits = limits
        self._task = task
        self._tokens: list[int] = []
        self._prompt_length = 0
        self._mask: list[int] = []
        self._logprobs: list[float] = []
        self._history: list[Message] = []
        self._tools: Sequence[ToolSpec] | None = None
        self._dialog: Dialog | None = None
        self._thoughts = False
        self._finish: FinishReason = "done"
        self._busy = False
        self._ended = False

    @property
    def messages(self) -> list[Message]:
        """The conversation so far."""
        return self._history

    async def chat(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec] | None = None, **sampling: Any
    ) -> Message:
        """Let the policy write the next turn; see `ChatModel.chat`."""
        if self._ended or self._busy:
            raise RolloutEndedError(
                "the rollout has ended" if self._ended else "chat() is running already; await one call at a time"
            )
        self._busy = True
        try:
            room = self._extend(messages, tools)
            params = self._limits.sampling(self._task, self.metrics["turns"], room, self._format.stop_ids, sampling)
            with Deadline(self._limits.turn_timeout, "the model call"):
                completion = await self._engine.generate(list(self._tokens), params, session=self.session)
            return self._record(completion)
        except BudgetExhaustedError:
            raise
        except Exception as error:
            self.fault = error
            raise
        finally:
            self._busy = False

    def end(self) -> None:
        """Refuse further calls and give the engine its cache back."""
        if not self._ended:
            self._ended = True
            self._engine.release(self.session)

    def trajectory(self, reward: float = 0.0) -> Trajectory:
        """Return what was recorded; how it finished is what the budgets say."""
        return Trajectory(
            prompt_tokens=self._tokens[: self._prompt_length],
            response_tokens=self._tokens[self._prompt_length :],
            response_masks=self._mask,
            idx=self._task.idx,
            trajectory_reward=reward,
            chat_completions=self._history,
            metrics=self.metrics,
            response_logprobs=self._logprobs,
            finish_reason=self._finish,
        )

    def failed(self, error: BaseException, file: str | None = None) -> Trajectory:
        """Return what was recorded until `error` ended it; `file` is the user's own, whose line is named."""
        trajectory = self.trajectory()
        trajectory.finish_reason = "timeout" if isinstance(error, LateError) else "error"
        trajectory.error = with_own_line(error, file)
        return trajectory

    def _extend(self, messages: Sequence[Message], tools: Sequence[ToolSpec] | None) -> int:
        """Append what is new in `messages`; return how many tokens the policy may write."""
        if self._dialog is None:
            self._begin(messages, tools)
        else:
            self._continue(self._dialog, messages, tools)
        return self._room(0)

    def _begin(self, messages: Sequence[Message], tools: Sequence[ToolSpec] | None) -> None:
        if not messages:
            raise ValueError("chat() needs at least one message")
        self._dialog = self._format.dialog(tools)
        self._tools = tools
        self._tokens = self._limits.fitted(self._dialog.prompt_ids(messages), self._task)
        self._prompt_length = len(self._tokens)
        self._history = [dict(message) for message in messages]
        self._require_room(0)

    def _continue(self, dialog: Dialog, messages: Sequence[Message], tools: Sequence[ToolSpec] | None) -> None:
        follow_up = self._new(messages)
        if tools is not self._tools and tool_schemas(tools) != tool_schemas(self._tools):
            raise HistoryEditedError("the tools differ from those of the first call; give the same in every call")
        if self.metrics["turns"] >= self._limits.max_steps:
            self._finish = "max_steps"
            raise StepLimitError(f"max_steps is {self._limits.max_steps}, and the rollout has had its turns")
        suffix = dialog.suffix_ids(follow_up, thoughts=self._thoughts)
        if self._tokens[-1] == suffix[0]:
            suffix = suffix[1:]  # the policy ended its turn itself
        self._require_room(len(suffix))
        self._tokens += suffix
        self._mask += [0] * len(suffix)
        self._logprobs += [0.0] * len(suffix)
        self._history += [dict(message) for message in follow_up]

    def _new(self, messages: Sequence[Message]) -> Sequence[Message]:
        """Return the messages after the recorded ones.

        Raises:
            HistoryEditedError: they don't begin with the recorded ones, or add nothing that the policy could answer.
        """
        known = len(self._history)
        for place, (old, new) in enumerate(zip(self._history, messages, strict=False)):
            if old != new and _essence(old) != _essence(new):
                raise HistoryEditedError(
                    f"message {place} ({old.get('role')}) was changed since the policy saw it; append to the messages, "
                    "and keep what chat() was given and returned as it is"
                )
        follow_up = messages[known:]
        if not follow_up:
            raise HistoryEditedError(
                f"chat() was given {len(messages)} messages after {known} recorded ones; append an answer to the reply "
                "before the next call"
            )
        if any(message.get("role") == "assistant" for message in follow_up):
            raise HistoryEditedError("an assistant's message that the policy did not write can't be appended")
        return follow_up

    def _room(self, further: int) -> int:
        """Return the tokens that are left after `further` ones."""
        total = len(self._tokens) + further
        in_response = self._limits.max_response_length - (total - self._prompt_length)
        return min(in_response, self._engine.max_model_len - total)

    def _require_room(self, further: int) -> None:
        if self._room(further) <= 0:
            self._finish = "length"
            raise BudgetExhaustedError(
                f"{len(self._tokens) + further} tokens leave no room for another turn (max_response_length "
                f"{self._limits.max_response_length}, max_model_len {self._engine.max_model_len})"
            )

    def _record(self, completion: Completion) -> Message:
        self._tokens += completion.tokens
        self._mask += [1] * len(completion.tokens)
        self._logprobs += completion.logprobs
        turn = self.metrics["turns"]
        self.metrics["turns"] = turn + 1
        self._finish = "length" if completion.finish_reason == "length" else "done"
        message = self._message(self._format.text(completion.tokens), turn)
        self._history.append(dict(message))
        return message

    def _message(self, text: str, turn: int) -> Message:
        content, calls = parse_tool_calls(text)
        self._thoughts = self._thoughts or "</think>" in text
        message: Message = {"role": "assistant", "content": content}
        if calls:
            message["tool_calls"] = [as_openai(call, f"call_{turn}_{place}") for place, call in enumerate(calls)]
            self.metrics["tool_calls"] += len(calls)
            self.metrics["malformed_tool_calls"] += sum(bool(call.error) for call in calls)
        cut = self._finish == "length"
        message["finish_reason"] = "length" if cut else "tool_calls" if calls else "stop"
        return message


def _essence(message: Message) -> tuple[Any, Any, Any]:
    """What of a message reaches the policy; agents may drop or add the rest."""
    return message.get("role"), message.get("content") or "", message.get("tool_calls") or []
