"""How long sequences may be, how the model attends, and what the inference server is asked for (ARL531 to ARL534)."""

from __future__ import annotations

from collections.abc import Iterator

from agentic_rl.config.fields.wording import show
from agentic_rl.config.rules import Facts, Problem, Rule, rule
from agentic_rl.config.verl_native.installation import numbers
from agentic_rl.config.verl_native.native_rules.facts import MODEL, ROLLOUT, whole

CONTEXT_RULES: list[Rule] = []

_CONTEXT = f"{ROLLOUT}.max_model_len"
_ROUTES = (0, 22)
"""The first vLLM that hands routed experts out right."""


@rule(CONTEXT_RULES, "ARL531", "Context shorter than prompt and response", "warning")
def room_for_the_response(facts: Facts) -> Iterator[Problem]:
    """The inference engine's context (`rollout.max_model_len`) should hold a prompt and a response of full length.

    verl does not compare them. Where even the prompt fills the context, a rollout fails (`generate` in
    `verl/workers/rollout/vllm_rollout/vllm_async_server.py` finds no room): an error. Where the response does not fit,
    answers are cut short without a word.
    """
    if facts[_CONTEXT] is None:
        return
    context = whole(facts, _CONTEXT)
    prompt, response = whole(facts, f"{ROLLOUT}.prompt_length"), whole(facts, f"{ROLLOUT}.response_length")
    if context >= prompt + response:
        return
    told = f"{show(context)} tokens, but a prompt may have {show(prompt)} and a response {show(response)}"
    remedy = show(prompt + response)
    if context <= prompt:
        yield Problem(
            _CONTEXT, f"{told}: a long prompt leaves no room to generate, and its rollout fails", remedy, "error"
        )
    else:
        yield Problem(_CONTEXT, f"{told}: responses are cut short", remedy)


@rule(CONTEXT_RULES, "ARL532", "Context longer than the model's own", "error")
def context_of_the_model(facts: Facts) -> Iterator[Problem]:
    """The inference engine's context is at most `max_position_embeddings` of the model's `config.json`.

    `_validate_configs` of the servers (`verl/workers/rollout/vllm_rollout/vllm_async_server.py`) refuses more, when
    training processes have been started and the policy was loaded. Null takes the model's own.
    """
    if facts[_CONTEXT] is None:
        return
    context, most = whole(facts, _CONTEXT), facts["@model.max_position_embeddings"]
    if context > most:
        yield Problem(_CONTEXT, f"{show(context)} tokens, but the model has {show(most)} positions", show(most))


@rule(CONTEXT_RULES, "ARL533", "flash-attention is not installed", "error")
def attention(facts: Facts) -> Iterator[Problem]:
    """Without `attn_implementation` verl loads models with flash-attention.

    `HFModelConfig.__post_init__` in `verl/workers/config/model.py` takes `flash_attention_2`, and transformers raises
    `ImportError` in a worker where the package `flash-attn` is missing. `sdpa` needs no package. NPUs have an
    implementation of their own.
    """
    key = f"{MODEL}.override_config.attn_implementation"
    chosen = facts.get(key, "flash_attention_2")
    uses_transformers = str(facts.get("actor_rollout_ref.actor.strategy", "")).startswith("fsdp")
    if chosen != "flash_attention_2" or facts["@verl.flash_attn"] or not uses_transformers:
        return
    if facts["trainer.device"] != "npu":
        yield Problem(
            key, "flash_attention_2 is chosen, but flash-attn is not installed", "sdpa, or install flash-attn"
        )


@rule(CONTEXT_RULES, "ARL534", "Something that the inference server does not offer", "error")
def server_features(facts: Facts) -> Iterator[Problem]:
    """Two wishes that are refused only when the servers are up.

    Metrics for Prometheus need `disable_log_stats: false` (`LLMServerManager` in
    `verl/workers/rollout/llm_server.py`). Replaying the routes of a mixture-of-experts model needs vLLM 0.22
    (`vllm_async_server.py`).
    """
    if facts.get(f"{ROLLOUT}.prometheus.enable") and facts.get(f"{ROLLOUT}.disable_log_stats"):
        key = f"{ROLLOUT}.disable_log_stats"
        yield Problem(key, "true, but rollout.prometheus.enable wants the engine's statistics", "false")
    found = facts.get("@verl.vllm")
    replays = facts.get(f"{ROLLOUT}.enable_rollout_routing_replay") and facts.get(f"{ROLLOUT}.name") == "vllm"
    if replays and found and numbers(found) < _ROUTES:
        key = f"{ROLLOUT}.enable_rollout_routing_replay"
        yield Problem(key, f"true, but vLLM {found} is installed; it needs 0.22 or later", "false, or a newer vLLM")
