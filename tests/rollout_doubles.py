"""What tests of rollouts share: small tokenizers with chat templates, and a scripted engine."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from agentic_rl.agents import Task
from agentic_rl.rollout.engines.base import Completion, OnTokens, SamplingParams

MERGES = [("1", "2"), ("12", "*"), ("a", "b"), ("ab", "c"), ("Ġ", "a"), ("o", "l"), ("ol", "_")]
SPECIAL = ("<|im_start|>", "<|im_end|>", "<|endoftext|>")

# Three ways of models in the field, each written down here in its shortest form.
CHATML = """\
{%- if tools %}
{{- '<|im_start|>system\\n' }}
{%- for tool in tools %}{{- tool | tojson + '\\n' }}{% endfor %}
{{- '<|im_end|>\\n' }}
{%- endif %}
{%- for message in messages %}
{{- '<|im_start|>' + message.role + '\\n' + (message.content or '') }}
{%- for call in message.tool_calls or [] %}
{{- '\\n' if message.content or not loop.first else '' }}
{{- '<tool_call>\\n{"name": "' + call.function.name }}
{{- '", "arguments": ' + call.function.arguments | tojson + '}\\n</tool_call>' }}
{%- endfor %}
{{- '<|im_end|>\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{% endif %}"""
"""ChatML with a tool role."""

GROUPED = CHATML.replace(
    "{{- '<|im_start|>' + message.role + '\\n' + (message.content or '') }}",
    """{%- if message.role == 'tool' %}
{%- if loop.first or messages[loop.index0 - 1].role != 'tool' %}{{- '<|im_start|>user' }}{% endif %}
{{- '\\n<tool_response>\\n' + message.content + '\\n</tool_response>' }}
{%- if loop.last or messages[loop.index0 + 1].role != 'tool' %}{{- '<|im_end|>\\n' }}{% endif %}
{%- continue %}
{%- endif %}
{{- '<|im_start|>' + message.role + '\\n' + (message.content or '') }}""",
)
"""As Qwen2.5: the results of one turn share a user message."""

THINKING = GROUPED.replace(
    "{{- '<|im_start|>' + message.role + '\\n' + (message.content or '') }}",
    """{%- set later = namespace(question=false) %}
{%- for one in messages[loop.index:] if one.role == 'user' %}
{%- set later.question = true %}
{%- endfor %}
{%- set content = message.content or '' %}
{%- if message.role == 'assistant' and later.question %}
{%- set content = content.split('</think>')[-1].lstrip('\\n') %}
{%- endif %}
{%- if message.role == 'assistant' and loop.last and '<think>' not in content %}
{%- set content = '<think>\\n\\n</think>\\n\\n' + content %}
{%- endif %}
{{- '<|im_start|>' + message.role + '\\n' + content }}""",
)
"""As Qwen3: thoughts before the last question are dropped, and a last turn without any gets an empty block."""

TEMPLATES = {"chatml": CHATML, "grouped": GROUPED, "thinking": THINKING}


def make_tokenizer(template: str = CHATML) -> PreTrainedTokenizerFast:
    """Byte-level BPE with a few merges: bytes sampled one by one are encoded otherwise when their text comes back."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    pieces = alphabet + [left + right for left, right in MERGES]
    bpe = Tokenizer(models.BPE({piece: number for number, piece in enumerate(pieces)}, MERGES))
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.decoder = decoders.ByteLevel()
    bpe.add_special_tokens([AddedToken(token, special=True) for token in SPECIAL])
    return PreTrainedTokenizerFast(
        tokenizer_object=bpe, eos_token="<|im_end|>", pad_token="<|endoftext|>", chat_template=template
    )


def spelled(tokenizer: PreTrainedTokenizerFast, text: str, *, end: bool = True) -> list[int]:
    """The ids of `text` byte by byte, without merges, as a policy may sample them; then the end-of-turn token."""
    ids = [tokenizer.encode(chr(byte) if byte < 128 else "?")[0] for byte in text.encode()]
    return [*ids, tokenizer.convert_tokens_to_ids("<|im_end|>")] if end else ids


Script = Callable[[Sequence[int], SamplingParams, int], Completion]


class ScriptedEngine:
    """A test double of `Engine`: turn n of a session gets the n-th reply, or what a function says."""

    def __init__(self, script: Sequence[Sequence[int]] | Script, *, max_model_len: int = 4096) -> None:
        self.max_model_len = max_model_len
        self.calls: list[tuple[list[int], SamplingParams, str | None]] = []
        self.released: list[str] = []
        self._script = script
        self._turns: dict[str | None, int] = {}

    async def generate(
        self,
        prompt: Sequence[int],
        sampling: SamplingParams,
        *,
        session: str | None = None,
        on_tokens: OnTokens | None = None,
    ) -> Completion:
        await asyncio.sleep(0)
        turn = self._turns.get(session, 0)
        self._turns[session] = turn + 1
        self.calls.append((list(prompt), sampling, session))
        if callable(self._script):
            completion = self._script(prompt, sampling, turn)
        else:
            completion = as_sampled(self._script[turn % len(self._script)], sampling)
        if on_tokens is not None:
            await self._tell(completion, on_tokens)
        return completion

    @staticmethod
    async def _tell(completion: Completion, on_tokens: OnTokens) -> None:
        """One token at a time, as an engine makes them."""
        for token, logprob in zip(completion.tokens, completion.logprobs, strict=True):
            on_tokens([token], [logprob])
            await asyncio.sleep(0)

    def release(self, session: str) -> None:
        self.released.append(session)

    async def close(self) -> None:
        self._turns.clear()


def as_sampled(ids: Sequence[int], sampling: SamplingParams) -> Completion:
    """A reply cut at its budget, with log-probabilities by which each token can be told apart."""
    kept = list(ids[: sampling.max_tokens])
    stopped = bool(kept) and kept[-1] in sampling.stop_token_ids
    return Completion(kept, [-0.001 * (place + 1) for place in range(len(kept))], "stop" if stopped else "length")


def make_task(text: str = "How many?", **fields: Any) -> Task:
    return Task([{"role": "user", "content": text}], **fields)


def call_text(expression: str) -> str:
    return f'<tool_call>\n{{"name": "calculator", "arguments": {{"expression": "{expression}"}}}}\n</tool_call>'
