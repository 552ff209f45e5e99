"""The tokenizer's chat template as text: whole prompts, and what follows a turn of the policy.

What the policy wrote is never rendered again. What comes after it is found by rendering a fixed dummy
conversation with a marker as the policy's reply, and taking what stands behind the marker.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from agentic_rl.agents.task import Message
from agentic_rl.rollout.call_formats import format_in
from agentic_rl.rollout.call_formats.base import CallFormat
from agentic_rl.rollout.errors import ChatTemplateError, HistoryRewrittenError
from agentic_rl.rollout.plain_messages import calls_as_text, for_template, with_tools_described
from agentic_rl.rollout.special_text import SpecialText

_MARKER = "REPLY-7f3a9c"
_THINK, _THOUGHT = "<think>\n", "THOUGHT-7f3a9c\n</think>\n\n"
_QUESTION: Message = {"role": "user", "content": "QUESTION-7f3a9c"}
_RESULT: Message = {"role": "tool", "content": "RESULT-7f3a9c"}
_TOOL = "tool_7f3a9c"
_CALL = {"id": "call7f3a9", "type": "function", "function": {"name": _TOOL, "arguments": {"key": "value"}}}
Schemas = Sequence[Mapping[str, Any]]


class Template:
    """Renders with `tokenizer.apply_chat_template`, for one set of tools and of the template's own options.

    Texts have the marks of `SpecialText` where messages or tools spell special tokens.
    """

    def __init__(
        self,
        tokenizer: Any,
        schemas: Schemas = (),
        options: Mapping[str, Any] | None = None,
        special: SpecialText | None = None,
        call_format: CallFormat | None = None,
    ) -> None:
        self._tokenizer = tokenizer
        self._options = dict(options or {})
        self._special = special or SpecialText.of(tokenizer)
        self._schemas: list[Any] = self._special.marked(list(schemas))
        self._given_format = call_format
        self._keeps: dict[tuple[str, bool], bool] = {}

    def render(self, messages: Sequence[Message], *, generation_prompt: bool = False) -> str:
        """Render messages to text. Tools and calls that the template prints nothing of are written into messages.

        Raises:
            ChatTemplateError: there is no template, or it refuses the messages.
        """
        try:
            prepared = [for_template(message) for message in messages]
        except (AttributeError, TypeError, ValueError) as error:
            raise ChatTemplateError(f"messages and their tool_calls need OpenAI's form: {error}") from error
        if self._schemas and not self._knows_tools:
            prepared = with_tools_described(prepared, self._schemas, self.call_format)
        if not any(message.get("tool_calls") for message in prepared):
            return self._rendered(prepared, generation_prompt)
        as_text = [calls_as_text(message, self.call_format) for message in prepared]
        if not self._knows_calls:
            return self._rendered(as_text, generation_prompt)
        try:
            return self._rendered(prepared, generation_prompt)
        except ChatTemplateError:  # some allow one call in a turn
            return self._rendered(as_text, generation_prompt)

    def _rendered(self, messages: Sequence[Message], generation_prompt: bool) -> str:
        try:
            text = self._tokenizer.apply_chat_template(
                [self._special.marked(message) for message in messages],
                tools=self._schemas or None,
                add_generation_prompt=generation_prompt,
                tokenize=False,
                **self._options,
            )
        except Exception as error:
            # Templates raise what they like: jinja2's errors, but also TypeError for a message they don't expect.
            roles = ", ".join(str(message.get("role")) for message in messages)
            raise ChatTemplateError(f"the chat template refuses messages of the roles {roles}: {error}") from error
        return str(text)

    def after_reply(self, follow_up: Sequence[Message], *, thoughts: bool) -> str:
        """Render what stands between a reply of the policy and its next turn, the end-of-turn token included.

        Args:
            follow_up: what comes after the reply; empty for the last reply of a conversation.
            thoughts: whether the policy has written a `<think>` block.

        Raises:
            HistoryRewrittenError: the template would show the policy an earlier reply changed.
        """
        if follow_up:
            self._check_history_kept(str(follow_up[0].get("role")), thoughts=thoughts)
        reply: Message = {"role": "assistant", "content": _MARKER}
        text = self.render([_QUESTION, reply, *follow_up], generation_prompt=bool(follow_up))
        _, found, after = text.partition(_MARKER)
        if not found:
            raise ChatTemplateError("the chat template does not print what an assistant's message says")
        return after

    def reply(self, message: Message) -> str:
        """Render what a policy writes for an assistant's message, without the end of its turn.

        Raises:
            ChatTemplateError: the rendered message does not begin as the generation prompt does.
        """
        try:  # as an earlier turn: some templates put an empty <think> block into the last one
            whole, end = self.render([_QUESTION, message, _RESULT], generation_prompt=True), self._before_result
        except ChatTemplateError:
            whole, end = self.render([_QUESTION, message]), self.after_reply([], thoughts=False)
        opening = self._opening
        if not (whole.startswith(opening) and whole.endswith(end)):
            raise ChatTemplateError("the chat template begins or ends this reply in a way of its own")
        text = whole[len(opening) : len(whole) - len(end)]
        if message.get("tool_calls") and message["tool_calls"][0]["function"]["name"] not in text:
            raise ChatTemplateError("the chat template does not print the tool calls of an assistant's message")
        return text

    def shows_tools(self) -> bool:
        """Whether a prompt names every tool; if not, the policy knows only what the data says about them."""
        return self._named_in(self._opening)

    @cached_property
    def call_format(self) -> CallFormat:
        """The format in which the policy writes calls; unless one was given, that in which the template prints them."""
        return self._given_format or format_in(self._call_printed, _TOOL)

    @cached_property
    def _knows_calls(self) -> bool:
        return _TOOL in self._call_printed

    @cached_property
    def _knows_tools(self) -> bool:
        return self._named_in(self._rendered([_QUESTION], True))

    @cached_property
    def _call_printed(self) -> str:
        try:
            return self._rendered(
                [_QUESTION, {"role": "assistant", "content": "", "tool_calls": [_CALL]}, _RESULT], False
            )
        except ChatTemplateError:
            return ""

    def _named_in(self, text: str) -> bool:
        return all(str(schema.get("function", schema).get("name")) in text for schema in self._schemas)

    @cached_property
    def _opening(self) -> str:
        return self.render([_QUESTION], generation_prompt=True)

    @cached_property
    def _before_result(self) -> str:
        return self.after_reply([_RESULT], thoughts=False)

    def _check_history_kept(self, role: str, *, thoughts: bool) -> None:
        """Refuse templates that rewrite a reply once something follows it; each case is tried out once."""
        if (role, thoughts) not in self._keeps:
            self._keeps[role, thoughts] = self._is_kept(role, thoughts=thoughts)
        if self._keeps[role, thoughts]:
            return
        what = "the <think> block" if thoughts else "the reply"
        raise HistoryRewrittenError(
            f"the chat template changes or drops {what} of an earlier turn once a {role} message follows, so that the "
            "policy would not see again what it wrote; use a template that keeps earlier turns as they are"
        )

    def _is_kept(self, role: str, *, thoughts: bool) -> bool:
        """Whether a reply stays what the policy wrote.

        What the generation prompt wrote for it may go: an empty block that turns thinking off is no word of the policy.
        """
        follow_up = {**_RESULT, "role": role}
        written = _THOUGHT + _MARKER if thoughts else _MARKER
        reply: Message = {"role": "assistant", "content": _THINK + written if thoughts else written}
        later = self.render([_QUESTION, reply, follow_up])
        if follow_up["content"] not in later:
            raise ChatTemplateError(f"the chat template does not print {role} messages")
        before, found, _ = later.partition(written)
        opening = self._opening
        return bool(found) and (opening.startswith(before) or (thoughts and before == opening + _THINK))
