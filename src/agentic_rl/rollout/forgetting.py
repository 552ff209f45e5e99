"""Conversations whose policy does not read its earlier thoughts again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agentic_rl.agents.agent import ToolSpec
from agentic_rl.agents.task import Message
from agentic_rl.rollout.branches import Branch
from agentic_rl.rollout.reply_stream import OnText
from agentic_rl.rollout.segments import Conversation, Reply
from agentic_rl.rollout.tool_calls import without_thoughts


class ForgetfulConversation(Conversation):
    """Shows the policy its earlier replies without their thoughts (`simplify_think_content`).

    What it is shown after a thought is no continuation of what it wrote, so that the trajectory gets a segment there.
    """

    async def complete(
        self,
        messages: Sequence[Message],
        tools: Sequence[ToolSpec] | None = None,
        *,
        chat_template_kwargs: Mapping[str, Any] | None = None,
        on_text: OnText | None = None,
        **sampling: Any,
    ) -> Reply:
        """Let the policy answer; see `Conversation.complete`."""
        reply = await super().complete(
            _shown(messages), tools, chat_template_kwargs=chat_template_kwargs, on_text=on_text, **sampling
        )
        return _as_told(reply, messages)

    async def extend(self, branch: Branch, messages: Sequence[Message], **sampling: Any) -> Reply:
        """Let the policy answer what continues a branch, in a new one where it thought before."""
        shown = _shown(messages)
        if shown == list(messages):
            return await super().extend(branch, messages, **sampling)
        self.require_open()
        dialog = branch.dialog or self._format.dialog()
        return _as_told(await self._answer(self._placed(shown, dialog), sampling, None, dialog.settled), messages)


def _shown(messages: Sequence[Message]) -> list[Message]:
    return [_without(message) if message.get("role") == "assistant" else message for message in messages]


def _without(message: Message) -> Message:
    content = message.get("content")
    if not isinstance(content, str):
        return message
    thoughts, rest = without_thoughts(content)
    return {**message, "content": rest.lstrip("\n")} if thoughts else message


def _as_told(reply: Reply, messages: Sequence[Message]) -> Reply:
    """The reply, its branch under the messages that the agent has: it appends to those."""
    reply.branch.history = [*map(dict, messages), reply.branch.history[-1]]
    return reply
