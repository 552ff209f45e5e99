"""The length budget: bad configurations with their messages, and good neighbours."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from agentic_rl.config.diagnostics import Finding

Findings = Callable[..., list[Finding]]
CODES = {"ARL240", "ARL241", "ARL242", "ARL243", "ARL244", "ARL245", "ARL246"}
CONTEXT = {"@model.max_position_embeddings": 32768}


def told(found: list[Finding]) -> list[Finding]:
    return [one for one in found if one.code in CODES]


class Bad(NamedTuple):
    """A configuration and the one finding on it."""

    backend: str
    changes: dict[str, Any]
    head: str
    message: str
    hint: str
    name: str


BAD = [
    Bad(
        "verl",
        {"max_model_len": 4096, "max_prompt_length": 2304, "verl__max_response_length": 2048},
        "error ARL240 max_model_len",
        "4096 tokens, but max_prompt_length 2304 + max_response_length 2048 = 4352 tokens, 256 more than fit",
        "max_model_len: 4352, or max_response_length: 1792",
        "verl-sum",
    ),
    Bad(
        "verl",
        {"verl__max_response_length": 16384, "verl__ppo_max_token_len_per_gpu": 36864},
        "error ARL240 max_model_len",
        "16384 tokens (the default), but max_prompt_length 2048 (the default) + max_response_length 16384 = "
        "18432 tokens, 2048 more than fit",
        "max_model_len: 18432, or max_response_length: 14336",
        "verl-sum-above-a-default",
    ),
    Bad(
        "verl",
        {"max_model_len": 2048},
        "error ARL240 max_model_len",
        "2048 tokens, but max_prompt_length 2048 (the default) + max_response_length 2048 (the default) = 4096 tokens, "
        "2048 more than fit",
        "max_model_len: 4096",
        "verl-prompt-alone",
    ),
    Bad(
        "local",
        {"max_model_len": 4095},
        "warning ARL240 max_model_len",
        "4095 tokens, but max_prompt_length 2048 (the default) + max_response_length 2048 (the default) = 4096 tokens, "
        "1 more than fit: responses to long prompts end early",
        "max_model_len: 4096, or max_response_length: 2047",
        "local-sum",
    ),
    Bad(
        "mindspeed_rl",
        {"max_model_len": 4096, "max_prompt_length": 4096},
        "warning ARL240 max_model_len",
        "4096 tokens, but max_prompt_length 4096: a prompt of full length leaves no room for a response",
        "max_model_len: 8192",
        "mindspeed-prompt-alone",
    ),
    Bad(
        "verl",
        {"max_model_len": 40960, "max_num_batched_tokens": 40960},
        "warning ARL241 max_model_len",
        "40960 tokens, but the model's own context is 32768 tokens (max_position_embeddings): beyond it answers are "
        "inaccurate",
        "max_model_len: 32768",
        "context",
    ),
    Bad(
        "local",
        {"max_model_len": 65536, "local__max_response_length": 60000, "local__ppo_max_token_len_per_gpu": 65536},
        "warning ARL241 max_model_len",
        "65536 tokens, but the model's own context is 32768 tokens (max_position_embeddings): beyond it answers are "
        "inaccurate",
        "max_model_len: 32768",
        "local-context",
    ),
    Bad(
        "verl",
        {"max_num_batched_tokens": 4096},
        "warning ARL242 max_num_batched_tokens",
        "4096 tokens is less than max_model_len 16384 (the default): longer sequences are read in parts (chunked "
        "prefill), and refused where that is off",
        "max_num_batched_tokens: 16384",
        "batched",
    ),
    Bad(
        "mindspeed_rl",
        {"max_model_len": 10240},
        "warning ARL242 max_num_batched_tokens",
        "8192 tokens (the default) is less than max_model_len 10240: longer sequences are read in parts (chunked "
        "prefill), and refused where that is off",
        "max_num_batched_tokens: 10240",
        "batched-default",
    ),
    Bad(
        "verl",
        {"verl__ppo_max_token_len_per_gpu": 4095},
        "error ARL243 verl.ppo_max_token_len_per_gpu",
        "4095 tokens, but the longest sample has max_prompt_length 2048 (the default) + max_response_length 2048 (the "
        "default) = 4096 tokens",
        "ppo_max_token_len_per_gpu: 4096, better 8192",
        "budget",
    ),
    Bad(
        "verl",
        {"max_model_len": 32768, "max_num_batched_tokens": 32768, "verl__max_response_length": 30000},
        "error ARL243 verl.ppo_max_token_len_per_gpu",
        "24000 tokens (the default), but the longest sample has max_prompt_length 2048 (the default) + "
        "max_response_length 30000 = 32048 tokens",
        "ppo_max_token_len_per_gpu: 32048, better 64096",
        "budget-default",
    ),
    Bad(
        "verl",
        {"verl__ppo_max_token_len_per_gpu": 4096},
        "note ARL243 verl.ppo_max_token_len_per_gpu",
        "4096 tokens; verl advises rollout_n 2 (the default) x the longest sample (max_prompt_length 2048 (the "
        "default) + max_response_length 2048 (the default) = 4096 tokens) = 8192 tokens: smaller micro batches take "
        "longer",
        "ppo_max_token_len_per_gpu: 8192",
        "budget-advised",
    ),
    Bad(
        "local",
        {"local__ppo_max_token_len_per_gpu": 4095},
        "note ARL243 local.ppo_max_token_len_per_gpu",
        "4095 tokens, but the longest sample has max_prompt_length 2048 (the default) + max_response_length 2048 (the "
        "default) = 4096 tokens: it gets a micro batch of its own, which takes more memory than this limit says",
        "ppo_max_token_len_per_gpu: 4096",
        "local-budget",
    ),
    Bad(
        "verl",
        {"max_steps": 4, "max_tokens": 1025},
        "warning ARL244 max_tokens",
        "max_steps 4 x max_tokens 1025 = 4100 tokens at most, but after the prompt there is room for 2048: 1 full turn "
        "fits",
        "max_steps: 1, or max_tokens: 512",
        "turns-not-two",
    ),
    Bad(
        "mindspeed_rl",
        {"max_steps": 3, "max_tokens": 15000},
        "warning ARL244 max_tokens",
        "max_steps 3 x max_tokens 15000 = 45000 tokens at most, but after the prompt there is room for 14336: not even "
        "one full turn fits",
        "max_tokens: 4778",
        "mindspeed-turns",
    ),
    Bad(
        "local",
        {"max_steps": 4, "max_tokens": 1024},
        "note ARL244 max_tokens",
        "max_steps 4 x max_tokens 1024 = 4096 tokens at most, but after the prompt there is room for 2048: 2 full "
        "turns fit",
        "max_steps: 2, or max_tokens: 512",
        "turns-two-of-four",
    ),
    Bad(
        "verl",
        {"max_tokens": 2048},
        "note ARL244 max_tokens",
        "max_steps 5 (the default) x max_tokens 2048 = 10240 tokens at most, but after the prompt there is room for "
        "2048: 1 full turn fits",
        "max_steps: 1, or max_tokens: 409",
        "turns-default",
    ),
    Bad(
        "verl",
        {"max_steps": 3000},
        "note ARL244 max_steps",
        "max_steps 3000 x max_tokens 8192 (the default) = 24576000 tokens at most, but after the prompt there is room "
        "for 2048: not even one full turn fits",
        "max_steps: 1 and max_tokens: 2048",
        "turns-more-than-tokens",
    ),
    Bad(
        "verl",
        {"max_steps": 1, "max_tokens": 4096},
        "warning ARL244 max_tokens",
        "max_steps 1 x max_tokens 4096 = 4096 tokens at most, but after the prompt there is room for 2048: not even "
        "one full turn fits",
        "max_tokens: 2048",
        "one-turn",
    ),
    Bad(
        "local",
        {"max_tokens": 2049},
        "warning ARL244 max_tokens",
        "max_steps 5 (the default) x max_tokens 2049 = 10245 tokens at most, but after the prompt there is room for "
        "2048: not even one full turn fits",
        "max_tokens: 409",
        "one-turn-of-the-default",
    ),
    Bad(
        "verl",
        {"max_model_len": 4096, "max_num_batched_tokens": 4096, "max_num_seqs": 4097},
        "error ARL245 max_num_batched_tokens",
        "4096 tokens of a forward pass is less than max_num_seqs 4097: vLLM refuses to start, since each sequence "
        "takes at least one",
        "max_num_seqs: 4096, or max_num_batched_tokens: 4097",
        "sequences",
    ),
    Bad(
        "mindspeed_rl",
        {"max_num_seqs": 10000},
        "error ARL245 max_num_batched_tokens",
        "8192 tokens (the default) of a forward pass is less than max_num_seqs 10000: vLLM refuses to start, since "
        "each sequence takes at least one",
        "max_num_seqs: 8192, or max_num_batched_tokens: 16384",
        "sequences-above-a-default",
    ),
    Bad(
        "mindspeed_rl",
        {"max_prompt_length": 2048, "mindspeed_rl__seq_len": 2048},
        "warning ARL246 mindspeed_rl.seq_len",
        "2048 tokens, but max_prompt_length 2048: a prompt of full length leaves no room for a response",
        "seq_len: 4096, or max_prompt_length: 1024",
        "training-sequence",
    ),
    Bad(
        "mindspeed_rl",
        {"max_prompt_length": 9000},
        "warning ARL246 mindspeed_rl.seq_len",
        "8192 tokens (the default), but max_prompt_length 9000: a prompt of full length leaves no room for a response",
        "seq_len: 16384, or max_prompt_length: 4096",
        "training-sequence-default",
    ),
]


@pytest.mark.parametrize("case", BAD, ids=[one.name for one in BAD])
def test_bad(case: Bad, findings: Findings) -> None:
    (finding,) = told(findings(case.backend, case.changes, CONTEXT))
    assert f"{finding.severity} {finding.code} {finding.key}" == case.head
    assert finding.message == case.message
    assert finding.hint == case.hint
    assert finding.line is not None


GOOD: list[tuple[str, dict[str, Any]]] = [
    ("verl", {}),
    ("local", {}),
    ("mindspeed_rl", {}),
    ("verl", {"max_model_len": 4352, "max_prompt_length": 2304, "verl__ppo_max_token_len_per_gpu": 8704}),
    ("verl", {"max_model_len": 32768, "max_num_batched_tokens": 32768}),
    ("local", {"max_model_len": 4096}),
    ("local", {"max_num_batched_tokens": 16}),
    ("mindspeed_rl", {"max_model_len": 8192, "max_prompt_length": 8191}),
    ("verl", {"verl__ppo_max_token_len_per_gpu": 8192}),
    ("local", {"local__ppo_max_token_len_per_gpu": 4096}),
    ("verl", {"max_steps": 4, "max_tokens": 512}),
    ("verl", {"max_steps": 1, "max_tokens": 2048}),
    ("verl", {"max_steps": 1}),
    ("verl", {"max_num_seqs": 8192}),
    ("local", {"max_num_seqs": 10000}),
    ("mindspeed_rl", {"max_prompt_length": 8191}),
    ("verl", {"max_prompt_length": 14336}),
    ("mindspeed_rl", {"max_steps": 7, "max_tokens": 2048}),
]


@pytest.mark.parametrize(("backend", "changes"), GOOD)
def test_good(backend: str, changes: dict[str, Any], findings: Findings) -> None:
    assert told(findings(backend, changes, CONTEXT)) == []


def test_default_length_of_local_counts_only_as_far_as_samples_reach(findings: Findings) -> None:
    assert told(findings("local", {}, {"@model.max_position_embeddings": 4096})) == []
    (finding,) = told(findings("local", {}, {"@model.max_position_embeddings": 4095}))
    assert finding.message.startswith("16384 tokens (the default), but the model's own context is 4095 tokens")


def test_a_model_that_was_not_read_has_no_context(findings: Findings) -> None:
    assert told(findings("verl", {"max_model_len": 131072, "max_num_batched_tokens": 131072}, {})) == []


@pytest.mark.parametrize("turns", [1, 2, 10])
@pytest.mark.parametrize("each", [1, 7, 64, 1000])
@pytest.mark.parametrize("room", [1, 9, 100, 2048])
def test_what_is_proposed_for_turns_passes(turns: int, each: int, room: int, findings: Findings) -> None:
    changes = {"max_steps": turns, "max_tokens": each, "local__max_response_length": room}
    for bad in [one for one in findings("local", changes) if one.code == "ARL244"]:
        for proposed in re.split(r", or ", bad.hint):
            values = {key: int(value) for key, value in re.findall(r"(max_\w+): (\d+)", proposed)}
            assert values
            assert told(findings("local", {**changes, **values})) == []
