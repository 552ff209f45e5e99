"""What generates: the one protocol behind which every engine stands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol


@dataclass(frozen=True, slots=True)
class SamplingParams:
    """How to sample one completion; the names and meanings are vLLM's."""

    max_tokens: int
    temperature: float = 1.0
    """0 takes the most probable token."""
    top_k: int = -1
    """-1 or 0: off."""
    top_p: float = 1.0
    min_p: float = 0.0
    stop_token_ids: tuple[int, ...] = ()
    seed: int = 0
    """Equal seeds, weights and prompts give equal tokens, whatever else the batch holds."""


@dataclass(frozen=True, slots=True)
class Completion:
    """What one call generated."""

    tokens: list[int]
    """The sampled tokens, the stop token included."""
    logprobs: list[float]
    """log softmax(logits / temperature) of each sampled token, before top_k, top_p and min_p; for temperature 0
    that of temperature 1."""
    finish_reason: Literal["stop", "length"]


OnTokens = Callable[[Sequence[int], Sequence[float]], None]
"""Told of sampled tokens and their log-probabilities, each once and in order."""


class PromptTooLongError(ValueError):
    """A prompt leaves no room for a token below the engine's `max_model_len`."""


class EngineClosedError(RuntimeError):
    """The engine takes no requests: it was closed, or its model failed (then that error is the cause)."""


class EngineFaultError(RuntimeError):
    """The engine could not answer a request with which nothing is wrong; later it may."""


class Engine(Protocol):
    """Generates tokens for many trajectories at once, on one event loop."""

    @property
    def max_model_len(self) -> int:
        """The longest sequence, prompt and completion together, in tokens."""
        ...

    async def generate(
        self,
        prompt: Sequence[int],
        sampling: SamplingParams,
        *,
        session: str | None = None,
        on_tokens: OnTokens | None = None,
    ) -> Completion:
        """Continue `prompt`. Calls with one `session` whose prompts extend each other may reuse its cache.

        `on_tokens` is called on the event loop as tokens are made; an engine that can't tell earlier tells all at the
        end. An exception that it raises ends this call alone, and comes out of it.

        Raises:
            PromptTooLongError: the prompt has `max_model_len` tokens or more.
            ValueError: the prompt is empty or holds an id that is no token, or a sampling value is out of range.
            EngineClosedError: the engine is closed.
            EngineFaultError: what generates failed, and trying again did not help.
        """
        ...

    def release(self, session: str) -> None:
        """Forget the cache of `session`: its trajectory has ended."""
        ...

    def weights_changed(self) -> None:
        """Read the model's weights again: they were written to since the last call."""
        ...

    async def close(self) -> None:
        """Stop, and free what the engine holds."""
        ...
