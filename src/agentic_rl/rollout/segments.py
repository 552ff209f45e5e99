"""The conversation of one rollout with the policy, however its messages are put: tokens are kept as they were."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from agentic_rl.agents.agent import ToolSpec
from agentic_rl.agents.deadline import Deadline
from agentic_rl.agents.errors import BudgetExhaustedError, LateError, RolloutEndedError, StepLimitError
from agentic_rl.agents.own_lines import with_own_line
from agentic_rl.agents.task import Message, Task
from agentic_rl.agents.trajectory import FinishReason, Trajectory
from agentic_rl.rollout.branches import Branch
from agentic_rl.rollout.chat import ChatFormat, Dialog
from agentic_rl.rollout.engines.base import Completion, Engine
from agentic_rl.rollout.errors import HistoryRewrittenError
from agentic_rl.rollout.limits import Limits
from agentic_rl.rollout.reply_stream import OnText, ReplyStream
from agentic_rl.rollout.stops import text_before_stop
from agentic_rl.rollout.tool_calls import as_openai


@dataclass(slots=True)
class Reply:
    """A turn of the policy."""

    message: Message
    """The assistant's message in OpenAI's form, with a `finish_reason`."""
    token_ids: list[int]
    """As sampled, the token that ended the turn included."""
    logprobs: list[float]
    finish_reason: Literal["stop", "tool_calls", "length"]
    prompt_ids: list[int]
    """All that the policy was shown."""
    text: str
    """What the policy wrote, calls of tools included, without the token that ended it."""
    branch: Branch
    """Where it was recorded."""


@dataclass(slots=True)
class _Call:
    """A call of the policy that has been prepared."""

    branch: Branch
    """The one to continue; a new one where `turn` is -1."""
    turn: int
    shown: Sequence[int]
    messages: Sequence[Message]

    def prompt(self) -> list[int]:
        end = self.branch.turns[self.turn].end if self.turn >= 0 else 0
        return [*self.branch.tokens[:end], *self.shown]


class Conversation:
    """What one rollout asks of the policy: messages in any order, also at the same time.

    Messages that continue what was recorded keep its tokens bit for bit. All others begin a new branch, and the
    trajectory then has several segments. A call that fails leaves nothing behind, so it may be made again.

    Engines see the session's name, and for calls at the same time names that begin with it and a `+`.
    """

    def __init__(self, engine: Engine, chat_format: ChatFormat, limits: Limits, task: Task, session: str) -> None:
        self.metrics: dict[str, Any] = {"turns": 0, "tool_calls": 0, "malformed_tool_calls": 0}
        self.session = session
        self._engine = engine
        self._format = chat_format
        self._limits = limits
        self._task = task
        self._branches: list[Branch] = []
        self._turns: list[tuple[Branch, int]] = []
        self._unanswered: _Call | None = None
        self._started = 0
        self._running: list[str] = []
        self._sessions = [session]
        self._finish: FinishReason = "done"
        self._ended = False

    @property
    def last(self) -> Branch | None:
        """The branch of the last reply."""
        return self._branches[-1] if self._branches else None

    @property
    def messages(self) -> list[Message]:
        """The conversation that the last reply belongs to."""
        if self._branches:
            return self._branches[-1].history
        return [dict(message) for message in self._unanswered.messages] if self._unanswered else []

    async def complete(
        self,
        messages: Sequence[Message],
        tools: Sequence[ToolSpec] | None = None,
        *,
        chat_template_kwargs: Mapping[str, Any] | None = None,
        on_text: OnText | None = None,
        **sampling: Any,
    ) -> Reply:
        """Let the policy answer `messages`, which may be any conversation.

        Args:
            messages: in OpenAI's form.
            tools: what the policy may call.
            chat_template_kwargs: variables of the chat template, such as `enable_thinking`.
            on_text: told of the message's content while it is written, as far as no call of a tool can follow in it.
            **sampling: of this call only: `stop`, one or several texts, and what `Limits.sampling` knows.

        Raises:
            BudgetExhaustedError: no tokens or no turns are left.
            LateError: the call took longer than `turn_timeout`.
            RolloutEndedError: the rollout has ended.
            ChatTemplateError: the template refuses the messages.
        """
        self.require_open()
        dialog = self._format.dialog(tools, chat_template_kwargs)
        return await self._answer(self._placed(messages, dialog), sampling, on_text, dialog.settled)

    async def extend(self, branch: Branch, messages: Sequence[Message], **sampling: Any) -> Reply:
        """Let the policy answer messages that are known to continue the last turn of a branch; see `complete`."""
        self.require_open()
        dialog = branch.dialog or self._format.dialog()
        return await self._answer(self._continued(branch, dialog, len(branch.turns) - 1, messages), sampling)

    async def complete_ids(self, prompt: Sequence[int], *, on_text: OnText | None = None, **sampling: Any) -> Reply:
        """Let the policy continue tokens; those that a branch has are that branch's.

        `on_text` is told of the text while it is written.

        Raises:
            ValueError: there are none.
            BudgetExhaustedError, LateError, RolloutEndedError: as with `complete`.
        """
        self.require_open()
        if not prompt:
            raise ValueError("prompt has no tokens; give at least one")
        return await self._answer(self._placed_ids(list(prompt)), sampling, on_text)

    async def complete_text(self, prompt: str, *, on_text: OnText | None = None, **sampling: Any) -> Reply:
        """Let the policy continue text, in which special tokens count as such.

        Text that begins with all that a branch holds continues that branch with its own tokens. `on_text` is told of
        the text while it is written.

        Raises:
            ValueError: it is empty.
            BudgetExhaustedError, LateError, RolloutEndedError: as with `complete`.
        """
        self.require_open()
        if not prompt:
            raise ValueError("prompt is empty; give some text")
        return await self._answer(self._placed_text(prompt), sampling, on_text)

    def end(self) -> None:
        """Refuse further calls and give the engine its caches back."""
        if not self._ended:
            self._ended = True
            for session in self._sessions:
                self._engine.release(session)

    def require_open(self) -> None:
        """Raise RolloutEndedError once the rollout has ended."""
        if self._ended:
            raise RolloutEndedError("the rollout has ended")

    def trajectory(self, reward: float = 0.0) -> Trajectory:
        """Return what was recorded; how it finished is what the budgets say."""
        by_branch = {id(branch): branch.segment() for branch in self._branches}
        segments = list(by_branch.values())
        if segments:
            last = segments[-1]
            tokens = last.prompt_tokens, last.response_tokens, last.response_masks
        else:
            tokens = (self._unanswered.prompt() if self._unanswered else []), [], []
        return Trajectory(
            *tokens,
            idx=self._task.idx,
            trajectory_reward=reward,
            chat_completions=self.messages,
            metrics=self.metrics,
            response_logprobs=segments[-1].response_logprobs if segments else [],
            steps=[branch.step(turn, by_branch[id(branch)]) for branch, turn in self._turns],
            finish_reason=self._finish,
            segments=segments if len(segments) > 1 else [],
        )

    def failed(self, error: BaseException, file: str | None = None) -> Trajectory:
        """Return what was recorded until `error` ended it; `file` is the user's own, whose line is named."""
        trajectory = self.trajectory()
        trajectory.finish_reason = "timeout" if isinstance(error, LateError) else "error"
        trajectory.error = with_own_line(error, file)
        return trajectory

    def _placed(self, messages: Sequence[Message], dialog: Dialog) -> _Call:
        """Find the branch that the messages continue, or begin one."""
        if not messages:
            raise ValueError("chat() needs at least one message")
        for branch in reversed(self._branches):
            if branch.dialog is dialog:
                turn = branch.turn_of(messages)
                follow_up = messages[branch.turns[turn].messages :] if turn >= 0 else ()
                if follow_up and not any(message.get("role") == "assistant" for message in follow_up):
                    return self._continued(branch, dialog, turn, messages)
        return self._begun(messages, dialog)

    def _begun(self, messages: Sequence[Message], dialog: Dialog) -> _Call:
        prompt: Sequence[int] = dialog.prompt_ids(messages)
        if not self._branches:
            prompt = self._limits.fitted(prompt, self._task)
        return _Call(Branch(dialog, min(len(prompt), self._limits.max_prompt_length)), -1, prompt, messages)

    def _continued(self, branch: Branch, dialog: Dialog, turn: int, messages: Sequence[Message]) -> _Call:
        """Continue a branch after one of its turns, unless the template shows what was written there otherwise."""
        last = branch.turns[turn]
        follow_up = messages[last.messages :]
        try:
            suffix = dialog.suffix_ids(follow_up, thoughts=last.thoughts)
        except HistoryRewrittenError:
            return self._begun(messages, dialog)
        if branch.tokens[last.end - 1] == suffix[0]:
            suffix = suffix[1:]  # the policy ended its turn itself
        return _Call(branch, turn, suffix, follow_up)

    def _placed_ids(self, prompt: list[int]) -> _Call:
        for branch in reversed(self._branches):
            for turn in range(len(branch.turns) - 1, -1, -1):
                end = branch.turns[turn].end
                if end <= len(prompt) and branch.tokens[:end] == prompt[:end]:
                    return _Call(branch, turn, prompt[end:], ())
        return _Call(Branch(None, min(len(prompt), self._limits.max_prompt_length)), -1, prompt, ())

    def _placed_text(self, prompt: str) -> _Call:
        for branch in reversed(self._branches):
            for turn in range(len(branch.turns) - 1, -1, -1):
                known = self._format.decode(branch.tokens[: branch.turns[turn].end])
                if prompt.startswith(known):
                    return _Call(branch, turn, self._format.encode(prompt[len(known) :]), ())
        return self._placed_ids(self._format.encode(prompt))

    async def _answer(
        self,
        call: _Call,
        sampling: dict[str, Any],
        on_text: OnText | None = None,
        settled: Callable[[str], str] = str,
    ) -> Reply:
        prompt = call.prompt()
        stop = _texts(sampling.pop("stop", None)) if sampling else ()
        if not self._branches:
            self._unanswered = call
        if len(self._turns) + len(self._running) >= self._limits.max_steps:
            self._finish = "max_steps"
            raise StepLimitError(f"max_steps is {self._limits.max_steps}, and the rollout has had its turns")
        room = self._room(call.branch, len(prompt))
        params = self._limits.sampling(self._task, self._started, room, self._format.stop_ids, sampling)
        self._started += 1
        session = self._free_session()
        try:
            with Deadline(self._limits.turn_timeout, "the model call"):
                if stop or on_text is not None:
                    stream = ReplyStream(self._format, stop, on_text, settled)
                    completion = await stream.generate(self._engine, prompt, params, session)
                else:
                    completion = await self._engine.generate(prompt, params, session=session)
        finally:
            self._running.remove(session)
        self.require_open()
        return self._recorded(call, prompt, completion, stop)

    def _room(self, branch: Branch, length: int) -> int:
        """Return how many tokens the policy may write after `length` ones of a branch."""
        limits = self._limits
        in_response = limits.max_response_length - (length - branch.budget_start)
        room = min(in_response, self._engine.max_model_len - length)
        if room <= 0:
            self._finish = "length"
            raise BudgetExhaustedError(
                f"{length} tokens leave no room for another turn (max_response_length "
                f"{limits.max_response_length}, max_model_len {self._engine.max_model_len})"
            )
        return room

    def _free_session(self) -> str:
        session = self.session
        if self._running:
            number = 0
            while session in self._running:
                number += 1
                session = f"{self.session}+{number}"
            if session not in self._sessions:
                self._sessions.append(session)
        self._running.append(session)
        return session

    def _recorded(self, call: _Call, prompt: list[int], completion: Completion, stop: Sequence[str]) -> Reply:
        branch = call.branch
        if 0 <= call.turn < len(branch.turns) - 1:
            branch = branch.fork(call.turn)
        self._finish = "length" if completion.finish_reason == "length" else "done"
        text = self._format.text(completion.tokens)
        if stop:
            text = text_before_stop(text, stop)
        message = self._message(branch.dialog or self._format.dialog(), text)
        branch.show(call.shown, call.messages)
        branch.write(completion.tokens, completion.logprobs, message, text)
        self._turns.append((branch, len(branch.turns) - 1))
        self.metrics["turns"] = len(self._turns)
        self._keep(branch)
        return Reply(message, completion.tokens, completion.logprobs, message["finish_reason"], prompt, text, branch)

    def _keep(self, branch: Branch) -> None:
        """Put the branch last."""
        if not self._branches or self._branches[-1] is not branch:
            self._branches = [one for one in self._branches if one is not branch]
            self._branches.append(branch)
            self._unanswered = None

    def _message(self, dialog: Dialog, text: str) -> Message:
        content, calls = dialog.read(text)
        message: Message = {"role": "assistant", "content": content}
        if calls:
            turn = len(self._turns)
            message["tool_calls"] = [as_openai(call, f"call_{turn}_{place}") for place, call in enumerate(calls)]
            self.metrics["tool_calls"] += len(calls)
            self.metrics["malformed_tool_calls"] += sum(bool(call.error) for call in calls)
        cut = self._finish == "length"
        message["finish_reason"] = "length" if cut else "tool_calls" if calls else "stop"
        return message


def _texts(stop: str | Sequence[str] | None) -> Sequence[str]:
    return (stop,) if isinstance(stop, str) else tuple(stop or ())
