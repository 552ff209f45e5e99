"""Conversations as token ids: prompts, what follows a turn of the policy, and replies read back."""

from __future__ import annotations

import json
import logging
import marshal
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from agentic_rl.agents.agent import ToolSpec
from agentic_rl.agents.task import Message
from agentic_rl.agents.tool import Tool
from agentic_rl.rollout.call_formats import call_format
from agentic_rl.rollout.call_formats.base import CallFormat
from agentic_rl.rollout.decoding import decoder_of
from agentic_rl.rollout.errors import ChatTemplateError
from agentic_rl.rollout.special_text import MARK, SpecialText
from agentic_rl.rollout.template import Template
from agentic_rl.rollout.text_cache import Ids, TextCache
from agentic_rl.rollout.tool_calls import ParsedCall, without_thoughts

_LOGGER = logging.getLogger(__name__)
_DIALOGS = 256
"""Sets of tools that are remembered."""
_EQUAL_FOR_EQUALS = 2
"""The newest version of marshal that writes no references, which may differ between equal messages."""


class Dialog:
    """The token ids of conversations with one set of tools. `ChatFormat.dialog` makes and keeps them."""

    def __init__(self, template: Template, schemas: Sequence[Mapping[str, Any]], formats: ChatFormat) -> None:
        self.schemas = schemas
        self._template = template
        self._formats = formats
        self._cache = formats.cache
        self._kinds = object(), object(), object()
        if not template.shows_tools():
            _LOGGER.warning(
                "the chat template shows neither tools nor system messages; describe the tools in the prompt"
            )

    def prompt_ids(self, messages: Sequence[Message]) -> Ids:
        """Return the ids of a conversation up to where the policy's first token goes."""
        key = self._kinds[0], _key(messages)
        return self._cache.find(key) or self._cache.keep(key, self._encode_prompt(_plain(messages)))

    def suffix_ids(self, follow_up: Sequence[Message], *, thoughts: bool = False) -> Ids:
        """Return the ids between a reply of the policy and its next turn; the first is the end-of-turn token.

        Args:
            follow_up: the messages after the reply; empty at the end of a conversation.
            thoughts: whether the policy has written a `<think>` block.

        Raises:
            HistoryRewrittenError: the template would show the policy an earlier reply changed.
        """
        key = self._kinds[2 if thoughts else 1], _key(follow_up)
        return self._cache.find(key) or self._cache.keep(key, self._encode_suffix(_plain(follow_up), thoughts))

    def read(self, text: str) -> tuple[str, list[ParsedCall]]:
        """Split a reply into its content and its calls; thoughts are content, and a call in them is none."""
        thoughts, rest = without_thoughts(text)
        content, calls = self._formats.call_format.read(rest, self.schemas)
        return (f"{thoughts}{content}", calls) if calls else (text, [])

    def settled(self, text: str) -> str:
        """Return the beginning of a reply's content that no further text can change: what comes before any call."""
        thoughts, rest = without_thoughts(text)
        place = self._formats.call_format.calls_begin(rest, self.schemas)
        return thoughts + rest[:place].rstrip()

    def training_ids(self, messages: Sequence[Message]) -> tuple[list[int], list[int]]:
        """Return tokens and mask of a whole conversation, as a rollout with these replies would have them.

        The mask is 1 on what the policy has to write: each reply and its end-of-turn token. Both have the shape
        (tokens,), prompt included.

        Raises:
            ValueError: no message is an assistant's.
        """
        places = [index for index, message in enumerate(messages) if message.get("role") == "assistant"]
        if not places:
            raise ValueError("a conversation without an assistant's message has nothing to learn from")
        if any(after - before == 1 for before, after in pairwise(places)):
            raise ValueError("two assistant's messages follow each other; put a user's or a tool's between them")
        tokens = list(self.prompt_ids(messages[: places[0]]))
        mask = [0] * len(tokens)
        for place, following in zip(places, [*places[1:], len(messages)], strict=True):
            text = self._template.reply(messages[place])
            reply = self._formats.encode_rendered(text)
            suffix = self.suffix_ids(messages[place + 1 : following], thoughts="</think>" in text)
            kept = suffix if following < len(messages) else suffix[:1]
            tokens += [*reply, *kept]
            mask += [1] * (len(reply) + 1) + [0] * (len(kept) - 1)
        return tokens, mask

    def _encode_prompt(self, messages: Sequence[Message]) -> Ids:
        return tuple(self._formats.encode_rendered(self._template.render(messages, generation_prompt=True)))

    def _encode_suffix(self, follow_up: Sequence[Message], thoughts: bool) -> Ids:
        return tuple(self._formats.encode_rendered(self._template.after_reply(follow_up, thoughts=thoughts)))


class ChatFormat:
    """A tokenizer with its chat template.

    Args:
        tokenizer: of the policy's model.
        tool_parser: the format of tool calls; None: the one in which the template prints them, hermes where it prints
            none.
        template_options: variables of the template, such as `enable_thinking`, where a call names none.

    Raises:
        ChatTemplateError: there is no template, or it doesn't end the policy's turn with a token of its own.
        ValueError: no format is called `tool_parser`.
    """

    def __init__(
        self, tokenizer: Any, *, tool_parser: str | None = None, template_options: Mapping[str, Any] | None = None
    ) -> None:
        self.tokenizer = tokenizer
        self.decode = decoder_of(tokenizer)
        """Gives the text of tokens, special ones included."""
        self.cache = TextCache()
        self._options = dict(template_options or {})
        self._special = SpecialText.of(tokenizer)
        self._dialogs: OrderedDict[bytes, Dialog] = OrderedDict()
        given = call_format(tool_parser) if tool_parser else None
        self.call_format: CallFormat = Template(tokenizer, (), self._options, self._special, given).call_format
        """How the policy writes calls of tools."""
        self.end_of_turn: int = self._find_end_of_turn()
        """The token that ends the policy's turn."""
        self.stop_ids: Ids = tuple(sorted({self.end_of_turn, *self._eos_ids()}))
        """Every token after which the policy's turn is over."""

    @classmethod
    def configured(cls, tokenizer: Any, *, tool_parser: str, enable_thinking: bool | None) -> ChatFormat:
        """Make the format that a configuration asks for.

        Args:
            tokenizer: of the policy's model.
            tool_parser: as the key of the configuration; `auto` for the template's own.
            enable_thinking: as the key of the configuration; None leaves the template to its default.
        """
        options = None if enable_thinking is None else {"enable_thinking": enable_thinking}
        return cls(tokenizer, tool_parser=None if tool_parser == "auto" else tool_parser, template_options=options)

    def dialog(
        self, tools: Sequence[ToolSpec] | None = None, template_options: Mapping[str, Any] | None = None
    ) -> Dialog:
        """Return the format of conversations in which the policy may call `tools`.

        Args:
            tools: what the template shows.
            template_options: as `chat_template_kwargs` of a request to vLLM; they win over those of the format.
        """
        schemas = tool_schemas(tools)
        options = {**self._options, **template_options} if template_options else self._options
        key = _key([schemas, options])
        if key not in self._dialogs:
            self._dialogs[key] = Dialog(self._template(schemas, options), schemas, self)
            if len(self._dialogs) > _DIALOGS:
                self._dialogs.popitem(last=False)
        return self._dialogs[key]

    def encode(self, text: str) -> list[int]:
        """Return the ids of text, special tokens among them."""
        # Half of a surrogate pair, as broken tool output may hold, has no bytes to encode.
        text = text.encode("utf-8", "replace").decode("utf-8")
        return list(self.tokenizer.encode(text, add_special_tokens=False))

    def encode_rendered(self, text: str) -> list[int]:
        """Return the ids of text with the marks of `SpecialText`; what has one in it stays text."""
        if MARK not in text:
            return self.encode(text)
        return [token for piece in text.split(MARK) for token in self.encode(piece)]

    def initial_ids(self, messages: Sequence[Message], tools: Sequence[ToolSpec] | None = None) -> Ids:
        """Return the ids of a conversation up to where the policy's first token goes."""
        return self.dialog(tools).prompt_ids(messages)

    def suffix_ids(self, follow_up: Sequence[Message], tools: Sequence[ToolSpec] | None = None) -> Ids:
        """Return the ids between a reply and the policy's next turn; the first is the end-of-turn token."""
        return self.dialog(tools).suffix_ids(follow_up)

    def training_ids(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec] | None = None
    ) -> tuple[list[int], list[int]]:
        """Return tokens and mask of a whole conversation; see `Dialog.training_ids`."""
        return self.dialog(tools).training_ids(messages)

    def text(self, reply: Sequence[int]) -> str:
        """Return what the policy wrote in a turn, without the token that ended it."""
        if reply and reply[-1] in self.stop_ids:
            reply = reply[:-1]
        return self.decode(reply)

    def _template(self, schemas: Sequence[Mapping[str, Any]], options: Mapping[str, Any]) -> Template:
        return Template(self.tokenizer, schemas, options, self._special, self.call_format)

    def _find_end_of_turn(self) -> int:
        first = self.dialog().suffix_ids([])[:1]
        if not first or first[0] not in self.tokenizer.added_tokens_decoder:
            raise ChatTemplateError(
                "the chat template does not end an assistant's message with a special token, so the policy could "
                "not end its turn; add one, such as <|im_end|>, to the tokenizer and the template"
            )
        return first[0]

    def _eos_ids(self) -> set[int]:
        """Return the end-of-sequence tokens of the tokenizer and of `generation_config.json` beside it."""
        eos = [self.tokenizer.eos_token_id]
        file = Path(str(self.tokenizer.name_or_path)) / "generation_config.json"
        if file.is_file():
            written = json.loads(file.read_text(encoding="utf-8")).get("eos_token_id")
            eos += written if isinstance(written, list) else [written]
        return {token for token in eos if token is not None}


def tool_schemas(tools: Sequence[ToolSpec] | None) -> list[Mapping[str, Any]]:
    """Return the descriptions of tools in OpenAI's form."""
    return [one.schema if isinstance(one, Tool) else one for one in tools or ()]


def _key(values: Sequence[Any]) -> bytes:
    """Messages or schemas as something hashable, in a tenth of the time that JSON takes."""
    whole = values if isinstance(values, list) else list(values)
    try:
        return marshal.dumps(whole, _EQUAL_FOR_EQUALS)
    except ValueError:  # other types than Python's own, or nested deeply
        return _as_json(whole).encode()


def _plain(messages: Sequence[Message]) -> list[Message]:
    """Messages as templates expect them, with values as JSON has them."""
    plain: list[Message] = json.loads(_as_json(list(messages)))
    return plain


def _as_json(values: list[Any]) -> str:
    try:
        return json.dumps(values)
    except TypeError as error:
        raise ChatTemplateError(f"messages hold plain values only (text, numbers, lists, objects): {error}") from None
