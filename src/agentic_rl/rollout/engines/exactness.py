"""Whether the log-probabilities that vLLM gives are those of the distribution that was sampled."""

from __future__ import annotations

from agentic_rl.rollout.engines.base import SamplingParams


def require_exact(sampling: SamplingParams, source: str, *, processed: bool) -> None:
    """Refuse sampling whose log-probabilities vLLM gives at another temperature or after a filter.

    Args:
        sampling: what is asked for.
        source: what generates, for the message.
        processed: whether it gives `processed_logprobs` (after temperature, top_k, top_p and min_p) or vLLM's default,
            `raw_logprobs`.

    Raises:
        ValueError: they are not what `Completion.logprobs` says.
    """
    if sampling.temperature == 0:
        return
    filtered = sampling.top_k > 0 or sampling.top_p < 1 or sampling.min_p > 0
    if processed and filtered:
        problem = "are those after top_k, top_p and min_p; turn these three off"
    elif not processed and sampling.temperature != 1:
        problem = "are those of temperature 1; start it with --logprobs-mode processed_logprobs, or sample at 1"
    else:
        return
    raise ValueError(
        f"temperature {sampling.temperature:g}: the log-probabilities of {source} {problem}, or, where nothing is "
        "trained on them, make the engine with exact_logprobs=False"
    )
