"""The supervised warm-up on a tiny model."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from transformers import PreTrainedModel

from agentic_rl.backends.local import warmup
from agentic_rl.backends.local.learner import NonFiniteLossError
from agentic_rl.backends.local.warmup import DemonstrationError, lr_factor, supervised_warmup
from agentic_rl.rollout.chat import ChatFormat
from learning_doubles import largest_difference, settings, tiny_policy, weights
from rollout_doubles import make_tokenizer

CHAT = ChatFormat(make_tokenizer())
ANSWERS = ["ab", "12", "abc", "7"]
CONVERSATIONS = [
    [{"role": "user", "content": f"number {number}?"}, {"role": "assistant", "content": answer}]
    for number, answer in enumerate(ANSWERS)
]


def chat_policy() -> PreTrainedModel:
    return tiny_policy(vocab_size=len(CHAT.tokenizer))


def warm_up(
    policy: PreTrainedModel, *, seed: int = 0, conversations: Any = CONVERSATIONS, **changes: Any
) -> list[float]:
    """The losses of all steps."""
    _, section = settings(**{"sft_steps": 8, "sft_batch_size": 3, "sft_lr": 1e-2, **changes})
    losses: list[float] = []
    last = supervised_warmup(
        policy, CHAT, conversations, section, seed, on_step=lambda step, metrics: losses.append(metrics["sft/loss"])
    )
    assert last == {"sft/loss": losses[-1]}
    return losses


def test_the_policy_learns_the_conversations():
    policy = chat_policy()
    losses = warm_up(policy, sft_steps=120, sft_batch_size=4, sft_lr=2e-2)
    assert losses[-1] < 0.3 * losses[0]
    prompt = list(CHAT.initial_ids(CONVERSATIONS[2][:1]))
    with torch.no_grad():
        written = [policy(torch.tensor([prompt])).logits[0, -1].argmax().item()]
    assert written == CHAT.tokenizer.encode("abc")[:1]


def test_the_loss_is_the_weighted_mean_of_the_cross_entropy():
    policy = chat_policy()
    expected = weight_sum = 0.0
    for conversation in CONVERSATIONS[:2]:
        tokens, mask = CHAT.training_ids(conversation)
        with torch.no_grad():
            logprobs = policy(torch.tensor([tokens])).logits[0].log_softmax(-1)
        for place in range(1, len(tokens)):
            weight = 1.0 if mask[place] else 0.25
            expected -= weight * logprobs[place - 1, tokens[place]].item()
            weight_sum += weight
    losses = warm_up(policy, conversations=CONVERSATIONS[:2], sft_steps=1, sft_batch_size=2, sft_context_weight=0.25)
    assert losses == [pytest.approx(expected / weight_sum, abs=1e-5)]


def test_without_context_weight_only_replies_are_learned():
    loss = warm_up(chat_policy(), conversations=CONVERSATIONS[:1], sft_steps=1, sft_context_weight=0.0)
    tokens, mask = CHAT.training_ids(CONVERSATIONS[0])
    with torch.no_grad():
        logprobs = chat_policy()(torch.tensor([tokens])).logits[0, :-1].log_softmax(-1)
    chosen = logprobs.gather(1, torch.tensor(tokens)[1:, None])[:, 0][torch.tensor(mask[1:]) > 0]
    assert loss == [pytest.approx(-chosen.mean().item(), abs=1e-5)]


def test_equal_seeds_give_equal_weights():
    one, same, other = chat_policy(), chat_policy(), chat_policy()
    assert warm_up(one, seed=1) == warm_up(same, seed=1)
    warm_up(other, seed=2)
    assert largest_difference(weights(one), weights(same)) == 0
    assert largest_difference(weights(one), weights(other)) > 0


def test_micro_batches_change_nothing(monkeypatch):
    whole = warm_up(chat_policy())
    monkeypatch.setattr(warmup, "MICRO_BATCH_TOKENS", 1)
    assert warm_up(chat_policy()) == pytest.approx(whole, abs=1e-4)


def test_every_conversation_is_seen_before_any_is_seen_twice(monkeypatch):
    seen: list[int] = []
    monkeypatch.setattr(warmup, "_step", lambda model, optimizer, shown, *_: seen.extend(map(id, shown)) or 0.0)
    warm_up(chat_policy(), sft_steps=4, sft_batch_size=2)
    assert len(set(seen[:4])) == len(set(seen[4:])) == len(set(seen)) == 4


def test_the_learning_rate_rises_and_falls():
    factors = [lr_factor(step, 300) for step in range(300)]
    assert factors[0] == 1 / 20
    assert factors[19] == max(factors) == 1.0
    assert factors[159] == pytest.approx(0.55)
    assert factors[299] == pytest.approx(0.1)


@pytest.mark.parametrize("steps", [1, 2, 20, 21])
def test_the_learning_rate_of_a_short_warmup_is_positive(steps):
    factors = [lr_factor(step, steps) for step in range(steps)]
    assert all(0 < factor <= 1 for factor in factors)
    assert max(factors) == 1


@pytest.mark.parametrize(
    ("conversations", "message"),
    [
        ([], "no conversation in it"),
        ([*CONVERSATIONS, [{"role": "user", "content": "alone"}]], r"conversation 4 \(from 0\): .*assistant"),
    ],
)
def test_a_conversation_that_cannot_be_learned_from_is_named(conversations, message):
    policy = chat_policy()
    before = weights(policy)
    with pytest.raises(DemonstrationError, match=message):
        warm_up(policy, conversations=conversations)
    assert largest_difference(before, weights(policy)) == 0


def test_tools_are_shown_as_a_rollout_shows_them():
    tool = {"type": "function", "function": {"name": "calculator", "description": "", "parameters": {}}}
    _, section = settings(sft_steps=1, sft_batch_size=1)
    losses = [
        supervised_warmup(chat_policy(), CHAT, CONVERSATIONS[:1], section, 0, tools=tools)["sft/loss"]
        for tools in (None, [tool])
    ]
    assert losses[0] != losses[1]


def test_a_loss_that_is_not_finite_stops_before_the_update():
    policy = chat_policy()
    policy.model.norm.weight.data[0] = torch.nan
    before = weights(policy)["model.embed_tokens.weight"]
    with pytest.raises(NonFiniteLossError) as caught:
        warm_up(policy)
    assert caught.value.quantity == "loss"
    assert torch.equal(before, policy.model.embed_tokens.weight)
