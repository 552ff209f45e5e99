"""The supervised warm-up: a few hundred steps on conversations that show the format, before reinforcement.

Shape suffixes: N tokens that are predicted, flat.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from agentic_rl.agents.agent import ToolSpec
from agentic_rl.agents.task import Message
from agentic_rl.backends.local.batches import Sample, StepBatch
from agentic_rl.backends.local.forward import written_logits, written_logprobs
from agentic_rl.backends.local.layout import Layout
from agentic_rl.backends.local.learner import NonFiniteLossError
from agentic_rl.config.flat import LocalSection
from agentic_rl.rollout.chat import ChatFormat

BETAS = (0.9, 0.95)
"""AdamW's: a training of a few hundred steps has no use for the long memory of 0.999."""
RISING_STEPS = 20
"""Steps in which the learning rate rises to `sft_lr`; from there it falls linearly to a tenth."""
LAST_LR_RATIO = 0.1
MICRO_BATCH_TOKENS = 1536
"""Padded tokens of one forward pass on a CPU: more fall out of its cache."""

OnStep = Callable[[int, Mapping[str, float]], None]
"""Called after each step with its number, from 1, and its metrics."""


class DemonstrationError(ValueError):
    """A conversation of `sft_files` can't be learned from; the message says which and why."""


@dataclass(frozen=True)
class Demonstration:
    """A conversation as tokens; all but the first are predicted, with these weights in the loss."""

    sample: Sample
    weights: list[float]


def supervised_warmup(
    model: PreTrainedModel,
    chat_format: ChatFormat,
    conversations: Sequence[Sequence[Message]],
    section: LocalSection,
    seed: int,
    *,
    on_step: OnStep = lambda step, metrics: None,
    tools: Sequence[ToolSpec] | None = None,
) -> dict[str, float]:
    """Train `model` in place for `sft_steps` steps of `sft_batch_size` conversations; equal seeds, equal weights.

    The loss of a step is the weighted mean of the cross entropy of all its tokens: weight 1 on what the assistant
    wrote, its end-of-turn token included, `sft_context_weight` on what it was shown.

    Args:
        model: The policy; it stays in evaluation mode (no dropout).
        chat_format: Turns conversations into the tokens that a rollout with these replies would have.
        conversations: Whole conversations, each with at least one assistant's message.
        section: Holds the `sft_` keys and `grad_clip`.
        seed: Orders the conversations.
        on_step: Told the number and the metrics of each step.
        tools: What the conversations' tool calls may call, as the rollouts will show it.

    Returns:
        The metrics of the last step.

    Raises:
        DemonstrationError: A conversation can't be rendered, or there is none.
        NonFiniteLossError: A loss or gradient is not finite; the weights are those of the step before.
    """
    size = section.sft_batch_size
    order = list(islice(_shuffled(len(conversations), seed), section.sft_steps * size))
    ready = {
        number: _demonstration(chat_format, conversations, number, tools, section.sft_context_weight)
        for number in dict.fromkeys(order)
    }
    optimizer = torch.optim.AdamW(model.parameters(), lr=section.sft_lr, betas=BETAS, weight_decay=0.0, fused=True)
    metrics: dict[str, float] = {}
    for step in range(section.sft_steps):
        chosen = order[step * size : (step + 1) * size]
        for group in optimizer.param_groups:
            group["lr"] = section.sft_lr * lr_factor(step, section.sft_steps)
        loss = _step(model, optimizer, [ready[number] for number in chosen], step, section.grad_clip)
        metrics = {"sft/loss": loss}
        on_step(step + 1, metrics)
    return metrics


def lr_factor(step: int, steps: int) -> float:
    """The factor on `sft_lr` in `step` (from 0) of `steps`: up in `RISING_STEPS`, then down to a tenth."""
    rising = min(RISING_STEPS, steps)
    if step < rising:
        return (step + 1) / rising
    return 1 - (1 - LAST_LR_RATIO) * (step + 1 - rising) / (steps - rising)


def _step(
    model: PreTrainedModel,
    optimizer: torch.optim.Optimizer,
    demonstrations: Sequence[Demonstration],
    step: int,
    grad_clip: float,
) -> float:
    samples = [demonstration.sample for demonstration in demonstrations]
    batch = StepBatch(samples, Layout(pad_id=0), model.device)
    weights = [weight for demonstration in demonstrations for weight in demonstration.weights if weight > 0]
    weights_N = torch.tensor(weights, device=model.device)
    weights_N /= weights_N.sum()
    optimizer.zero_grad()
    total = torch.zeros((), device=model.device)
    for micro in batch.micro_batches(range(len(batch)), MICRO_BATCH_TOKENS):
        logprobs_N = written_logprobs(written_logits(model, micro), micro)
        loss: Tensor = -(logprobs_N * weights_N[micro.index_N]).sum()
        loss.backward()
        total += loss.detach()
    norm = nn.utils.clip_grad_norm_(model.parameters(), grad_clip)
    for name, value in (("loss", total), ("gradient norm", norm)):
        if not value.isfinite():
            raise NonFiniteLossError(name, step, samples)
    optimizer.step()
    return total.item()


def _demonstration(
    chat_format: ChatFormat,
    conversations: Sequence[Sequence[Message]],
    number: int,
    tools: Sequence[ToolSpec] | None,
    context_weight: float,
) -> Demonstration:
    try:
        tokens, mask = chat_format.training_ids(conversations[number], tools)
    except ValueError as error:
        raise DemonstrationError(f"sft_files: conversation {number} (from 0): {error}") from error
    weights = [1.0 if written else context_weight for written in mask[1:]]
    sample = Sample(tokens, prompt_length=1, mask=[int(weight > 0) for weight in weights])
    return Demonstration(sample, weights)


def _shuffled(count: int, seed: int) -> Iterator[int]:
    """Numbers below `count`, each once before any twice, without end."""
    if not count:
        raise DemonstrationError("sft_files: no conversation in it; a supervised warm-up needs at least one")
    generator = torch.Generator().manual_seed(seed)
    while True:
        yield from torch.randperm(count, generator=generator).tolist()
