"""Rows and micro batches: whatever the layout, the model sees the same."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
import torch
from transformers import MistralConfig, MistralForCausalLM

from agentic_rl.backends.local.batches import Sample, StepBatch
from agentic_rl.backends.local.forward import logprobs_of, written_logits
from agentic_rl.backends.local.layout import Layout, MicroBatch
from learning_doubles import PAD, make_samples, reference_logprobs, tiny_llama, tiny_policy

CPU = torch.device("cpu")
PLAIN, SHARING = Layout(PAD), Layout(PAD, attention_worth=1e9)


def micro_batches(samples: Sequence[Sample], layout: Layout, max_tokens: int) -> list[MicroBatch]:
    return list(StepBatch(samples, layout, CPU).micro_batches(range(len(samples)), max_tokens))


def written(sample: Sample, logprobs: torch.Tensor) -> torch.Tensor:
    return logprobs[torch.tensor(sample.mask) > 0]


@pytest.mark.parametrize("policy", [tiny_policy(), tiny_llama()], ids=["qwen3", "llama"])
@pytest.mark.parametrize("layout", [PLAIN, SHARING], ids=["plain", "sharing"])
@pytest.mark.parametrize("max_tokens", [1, 40, 200, 10_000])
def test_logprobs_are_those_of_each_sample_alone(policy, layout, max_tokens):
    samples = make_samples(groups=3, members=5)
    found = logprobs_of(
        policy, StepBatch(samples, layout, CPU), range(len(samples)), max_tokens=max_tokens, temperature=0.7
    )
    alone = torch.cat([written(sample, reference_logprobs(policy, sample, 0.7)) for sample in samples])
    torch.testing.assert_close(found, alone, rtol=0, atol=2e-6)


def test_samples_with_one_prompt_share_a_row():
    samples = make_samples(groups=3, members=5)
    (plain,), (shared,) = micro_batches(samples, PLAIN, 10_000), micro_batches(samples, SHARING, 10_000)
    assert len(plain.input_ids_RL) == 15
    assert plain.mask_R1LL is None
    assert len(shared.input_ids_RL) == 3
    assert shared.input_ids_RL.numel() < plain.input_ids_RL.numel()


def test_rows_are_shared_by_prompt_and_not_by_group():
    samples = [Sample([1, 2, 3, 4], 3, [1], group=0), Sample([1, 2, 9, 4], 3, [1], group=0)]
    (micro,) = micro_batches(samples, SHARING, 10_000)
    assert micro.mask_R1LL is None


def test_rows_are_split_where_attention_costs_more_than_the_prompt():
    samples = [Sample([1] * 10 + [2] * 50, 10, [1] * 50) for _ in range(8)]
    (micro,) = micro_batches(samples, Layout(PAD, attention_worth=30.0), 10_000)
    assert micro.mask_R1LL is None


def test_a_row_is_no_longer_than_a_micro_batch_may_be():
    samples = [Sample([1] * 20 + [2] * 5, 20, [1] * 5) for _ in range(8)]
    batches = micro_batches(samples, SHARING, 40)
    assert all(micro.input_ids_RL.numel() <= 40 for micro in batches)
    assert sum(len(micro.targets_N) for micro in batches) == 40


def test_a_sample_longer_than_a_micro_batch_stands_alone():
    samples = [Sample([1, 2, 3], 1, [1, 1]), Sample([1] * 50, 1, [1] * 49)]
    assert [micro.input_ids_RL.shape for micro in micro_batches(samples, PLAIN, 10)] == [(1, 2), (1, 49)]


def test_short_and_long_samples_do_not_pad_each_other():
    samples = [Sample([1] * 10, 1, [1] * 9) for _ in range(200)] + [Sample([1] * 500, 1, [1] * 499)] * 2
    batches = micro_batches(samples, PLAIN, 100_000)
    assert [len(micro.input_ids_RL) for micro in batches] == [200, 2]


def test_what_follows_the_last_written_token_is_no_input():
    (micro,) = micro_batches([Sample([1, 2, 3, 4, 5, 6], 2, [1, 1, 0, 0])], PLAIN, 100)
    assert micro.input_ids_RL.tolist() == [[1, 2, 3]]
    assert micro.predicting_N.tolist() == [1, 2]
    assert micro.targets_N.tolist() == [3, 4]


def test_samples_without_a_written_token_are_left_out():
    assert micro_batches([Sample([1, 2, 3], 2, [0]), Sample([1, 2], 1, [1], failed=True)], PLAIN, 100) == []


def test_logits_are_computed_only_where_they_count():
    policy = tiny_policy()
    seen = []
    policy.lm_head.register_forward_hook(lambda head, inputs, output: seen.append(tuple(output.shape)))
    samples = make_samples(groups=1, members=2)
    (micro,) = micro_batches(samples, SHARING, 1000)
    logits_NV = written_logits(policy, micro)
    assert seen == [tuple(logits_NV.shape)]
    assert len(logits_NV) == sum(sum(sample.mask) for sample in samples)
    assert not policy.lm_head._forward_pre_hooks


def test_models_with_attention_of_another_kind_do_not_share():
    sizes = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1, "num_key_value_heads": 1}
    mistral = MistralForCausalLM(MistralConfig(vocab_size=9, intermediate_size=8, head_dim=8, **sizes))
    windowed = tiny_policy(layer_types=["full_attention", "sliding_attention"], use_sliding_window=True)
    samples = [Sample([1, 2, 3, 4], 3, [1]), Sample([1, 2, 3, 5], 3, [1])]
    for model, shares in [(tiny_policy(), True), (mistral, False), (windowed, False)]:
        (micro,) = micro_batches(samples, Layout.of(model, PAD), 100)
        assert (micro.mask_R1LL is not None) is shares


@pytest.mark.parametrize("layout", [PLAIN, SHARING], ids=["plain", "sharing"])
def test_a_micro_batch_moves_as_a_whole(layout):
    (micro,) = micro_batches(make_samples(groups=2), layout, 10_000)
    moved = micro.to(torch.device("meta"))
    assert {tensor.device.type for tensor in vars(moved).values() if tensor is not None} == {"meta"}
    assert (moved.mask_R1LL is None) == (micro.mask_R1LL is None)
    assert micro.to(CPU) is micro
