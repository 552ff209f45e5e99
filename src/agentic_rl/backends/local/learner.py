"""The learner: from the rollouts of one training step to a better policy."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from agentic_rl.algorithms import schedules
from agentic_rl.algorithms.advantages import group_relative_advantages
from agentic_rl.algorithms.aggregation import LossAggregation, token_weights
from agentic_rl.algorithms.kl import AdaptiveKLController, FixedKLController, KLController
from agentic_rl.backends.local.batches import Sample, StepBatch, mini_batches
from agentic_rl.backends.local.forward import logprobs_of, written_logits, written_logprobs
from agentic_rl.backends.local.layout import Layout, MicroBatch
from agentic_rl.backends.local.objective import Evidence, Objective
from agentic_rl.backends.local.reference import Reference
from agentic_rl.backends.local.step_metrics import StepMetrics
from agentic_rl.config.flat import FlatConfig, LocalSection

logger = logging.getLogger(__name__)

BETAS = (0.9, 0.999)
"""AdamW's, as verl has them by default; the format has no key for them."""
MAX_LOGPROB_DIFFERENCE = 0.05
"""Mean difference between rollout and training above which the step warns: fp32 engines stay below 1e-4."""


class NonFiniteLossError(ArithmeticError):
    """A loss or gradient became NaN or infinite: the update that would have used it was not made."""

    def __init__(self, quantity: str, step: int, samples: list[Sample]) -> None:
        super().__init__(quantity, step, samples)
        self.quantity = quantity
        """`loss` or `gradient norm`."""
        self.step = step
        """The training step, from 0."""
        self.samples = samples
        """The samples whose loss is not finite; for a gradient norm those of the mini batch."""

    def __str__(self) -> str:
        return (
            f"the {self.quantity} of training step {self.step} is not finite ({len(self.samples)} samples); "
            "no weight was changed by it: look at these samples, or lower lr or grad_clip"
        )


class Learner:
    """Updates the policy by the rollouts of a training step.

    The reference model, where one is asked for, is a copy of `model` as it is when the learner is built. `model`
    stays in evaluation mode: dropout would part the probabilities of training from those of the rollout.
    """

    def __init__(
        self, model: PreTrainedModel, config: FlatConfig, section: LocalSection, total_steps: int, pad_id: int
    ) -> None:
        self._model = model.eval()
        self._config = config
        self._section = section
        self._total_steps = total_steps
        self._layout = Layout.of(model, pad_id)
        self._objective = Objective(config, section)
        self._optimizer = torch.optim.AdamW(
            model.parameters(), lr=config.lr, betas=BETAS, weight_decay=config.weight_decay, fused=True
        )
        wanted = config.use_kl_in_reward or section.use_kl_loss
        self._reference = Reference(model, config.temperature) if wanted else None
        self._kl_controller = _kl_controller(config)
        self._step = 0
        for parameter in model.parameters():
            # An update without any gradient is still one of AdamW's: momentum and weight decay act.
            parameter.grad = torch.zeros_like(parameter)

    @property
    def lr(self) -> float:
        """The learning rate of the next training step."""
        warmup = schedules.warmup_steps(self._config.lr_warmup_fraction, self._total_steps)
        if self._section.warmup_style == "constant":
            return self._config.lr * schedules.constant(self._step, warmup)
        ratio = self._section.min_lr_ratio or self._config.min_lr / self._config.lr
        cycles = self._section.num_cycles
        factor = schedules.cosine(self._step, warmup, self._total_steps, min_ratio=ratio, cycles=cycles)
        return self._config.lr * factor

    def update(self, samples: Sequence[Sample], rng: torch.Generator) -> dict[str, float]:
        """Learn from all rollouts of one training step: `ppo_epochs` passes over its mini batches.

        Args:
            samples: Every rollout of the step, failed ones included.
            rng: Orders the mini batches; it lives on the CPU and is part of what a checkpoint must keep.

        Returns:
            The step's `policy/` metrics: means over its updates (`loss`, the whole of it; `grad_norm`, before it is
            clipped) and over the tokens learned from (`entropy`; `clip_fraction`; `kl` from the policy that
            sampled; `logprob_difference` from the rollout, before the first update; `reference_kl`). Samples that
            can't change the gradient are left out, also from these means.

        Raises:
            NonFiniteLossError: The weights are then those after the last finite mini batch.
        """
        metrics = StepMetrics()
        metrics.add("policy/lr", torch.tensor(self.lr, dtype=torch.float64))
        for group in self._optimizer.param_groups:
            group["lr"] = self.lr
        batch = StepBatch(samples, self._layout, self._model.device)
        if len(batch.sample_N):
            evidence = self._evidence(batch, metrics)
            groups, prompts = batch.groups_B.tolist(), self._section.ppo_mini_batch_size
            for _ in range(self._section.ppo_epochs):
                for rows in mini_batches(groups, prompts, rng):
                    self._update_mini_batch(batch, rows, evidence, rng, metrics)
        self._step += 1
        means = metrics.means()
        if means.get("policy/logprob_difference", 0.0) > MAX_LOGPROB_DIFFERENCE:
            logger.warning(
                "step %d: log-probabilities of rollout and training differ by %.3f on average (more than %g): "
                "the engine computes something else than the trained model",
                self._step - 1,
                means["policy/logprob_difference"],
                MAX_LOGPROB_DIFFERENCE,
            )
        return means

    def state_dict(self) -> dict[str, Any]:
        """Everything but the policy's weights: step, optimizer, KL coefficient, reference model."""
        return {
            "step": self._step,
            "optimizer": self._optimizer.state_dict(),
            "kl_coef": self._kl_controller.value,
            "reference": self._reference.model.state_dict() if self._reference else None,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on where `state_dict` was taken; the policy's weights must be those of that moment."""
        self._step = state["step"]
        self._optimizer.load_state_dict(state["optimizer"])
        self._kl_controller.value = state["kl_coef"]
        if self._reference and state["reference"] is not None:
            self._reference.model.load_state_dict(state["reference"])

    def _evidence(self, batch: StepBatch, metrics: StepMetrics) -> Evidence:
        """What is known of every token before the first update: old log-probability and advantage."""
        sampled_N = batch.sampled_logprobs()
        old_logprobs_N = self._logprobs(batch, range(len(batch))) if sampled_N is None else sampled_N
        penalty_B = torch.zeros_like(batch.rewards_B)
        if self._reference and self._config.use_kl_in_reward:
            penalty_B = self._kl_penalty(self._reference, batch, old_logprobs_N, metrics)
        advantages_B = _advantages(batch, penalty_B)
        chosen_N = torch.zeros_like(old_logprobs_N, dtype=torch.bool)
        return Evidence(old_logprobs_N, advantages_B[batch.sample_N], chosen_N, recomputed=sampled_N is None)

    def _kl_penalty(self, reference: Reference, batch: StepBatch, logprobs_N: Tensor, metrics: StepMetrics) -> Tensor:
        """What the KL from the reference takes off each sample's reward, shape (B,); moves the coefficient on."""
        kl_N = reference.kl_of_batch(
            self._model, batch, logprobs_N, self._config.kl_penalty, max_tokens=self._max_tokens
        )
        kl_B = torch.zeros_like(batch.rewards_B).index_add(0, batch.sample_N, kl_N.double())
        penalty_B = self._kl_controller.value * kl_B
        metrics.add("policy/kl_coef", torch.tensor(self._kl_controller.value, dtype=torch.float64))
        means_B = (kl_B / batch.written_B)[batch.written_B > 0]
        metrics.add("policy/reference_kl", means_B)
        self._kl_controller.update(means_B.mean().item(), len(batch))
        return penalty_B

    def _update_mini_batch(
        self, batch: StepBatch, rows: list[int], evidence: Evidence, rng: torch.Generator, metrics: StepMetrics
    ) -> None:
        """One optimizer update."""
        weights_N = _token_weights(batch, rows, self._section.loss_agg_mode)
        if self._objective.ignores_zero_advantage:
            rows = _with_advantage(batch, rows, evidence)
        if self._objective.chooses_tokens:
            evidence = self._choose_tokens(batch, rows, weights_N > 0, evidence, rng)
        self._optimizer.zero_grad(set_to_none=False)
        total = torch.zeros((), device=self._model.device)
        for micro in batch.micro_batches(rows, self._max_tokens):
            losses_N = self._losses(micro, evidence.at(micro.index_N), metrics) * weights_N[micro.index_N]
            loss = losses_N.sum()
            if not loss.isfinite():
                raise NonFiniteLossError("loss", self._step, _to_blame(batch, micro, losses_N))
            loss.backward()
            total += loss.detach()
        norm = nn.utils.clip_grad_norm_(self._model.parameters(), self._section.grad_clip)
        if not norm.isfinite():
            raise NonFiniteLossError("gradient norm", self._step, [batch.samples[row] for row in rows])
        self._optimizer.step()
        metrics.add("policy/loss", total)
        metrics.add("policy/grad_norm", norm)

    def _losses(self, micro: MicroBatch, evidence: Evidence, metrics: StepMetrics) -> Tensor:
        """Loss of each token, shape (N,)."""
        logits_NV = written_logits(self._model, micro, self._config.temperature)
        logprobs_N = written_logprobs(logits_NV, micro)
        loss = self._objective.policy_loss(logprobs_N, evidence)
        entropy_N = self._objective.entropy(logits_NV)
        if "policy/grad_norm" not in metrics and not evidence.recomputed:
            # Before the first update the policy is the one that sampled: its probabilities should be the rollout's.
            metrics.add("policy/logprob_difference", (logprobs_N.detach() - evidence.old_logprobs_N).abs())
        metrics.add("policy/kl", loss.kl)
        metrics.add("policy/clip_fraction", loss.clipped.float())
        metrics.add("policy/entropy", entropy_N)
        losses_N = loss.loss - self._config.entropy_coeff * entropy_N
        if self._reference and self._section.use_kl_loss:
            kl_N = self._reference.kl(self._section.kl_loss_type, micro, logits_NV, logprobs_N)
            metrics.add("policy/reference_kl", kl_N)
            losses_N = losses_N + self._section.kl_loss_coeff * kl_N
        return losses_N

    def _choose_tokens(
        self, batch: StepBatch, rows: list[int], within_N: Tensor, evidence: Evidence, rng: torch.Generator
    ) -> Evidence:
        """Single out tokens by the whole mini batch (`within_N`), so that the micro batches do not matter."""
        logprobs_N = self._logprobs(batch, rows)[within_N]
        chosen_N = torch.zeros_like(evidence.chosen_N)
        chosen_N[within_N] = self._objective.choose_tokens(logprobs_N, evidence.at(within_N), rng)
        return replace(evidence, chosen_N=chosen_N)

    def _logprobs(self, batch: StepBatch, rows: Iterable[int]) -> Tensor:
        return logprobs_of(self._model, batch, rows, max_tokens=self._max_tokens, temperature=self._config.temperature)

    @property
    def _max_tokens(self) -> int:
        return self._section.ppo_max_token_len_per_gpu


def _kl_controller(config: FlatConfig) -> KLController:
    if config.kl_ctrl_type == "adaptive":
        return AdaptiveKLController(config.kl_coef, config.kl_target, config.kl_horizon)
    return FixedKLController(config.kl_coef)


def _advantages(batch: StepBatch, penalty_B: Tensor) -> Tensor:
    """The advantage of each sample: that of its trajectory, which pays the penalties of all its parts. Shape (B,)."""
    first_T, trajectory_B = batch.first_T, batch.trajectory_B
    rewards_T = batch.rewards_B[first_T].index_add(0, trajectory_B, penalty_B, alpha=-1)
    return group_relative_advantages(rewards_T, batch.groups_B[first_T], batch.failed_B[first_T])[trajectory_B]


def _token_weights(batch: StepBatch, rows: list[int], mode: LossAggregation) -> Tensor:
    """Weight of every token in the loss of the mini batch `rows`, 0 outside it. Shape (N,)."""
    weights_B = torch.zeros(len(batch), device=batch.written_B.device)
    weights_B[rows] = token_weights(batch.written_B[rows], mode)
    return weights_B[batch.sample_N]


def _with_advantage(batch: StepBatch, rows: list[int], evidence: Evidence) -> list[int]:
    """The rows whose advantage is not 0: the others would add nothing to the gradient."""
    active_B = torch.zeros(len(batch), dtype=torch.bool, device=batch.sample_N.device)
    active_B[batch.sample_N[evidence.advantages_N != 0]] = True
    return [row for row, active in zip(rows, active_B[rows].tolist(), strict=True) if active]


def _to_blame(batch: StepBatch, micro: MicroBatch, losses_N: Tensor) -> list[Sample]:
    """The samples with a loss that is not finite; all of the micro batch when only their sum is not."""
    broken_N = ~losses_N.isfinite()
    if not broken_N.any():
        broken_N = torch.ones_like(broken_N)
    return [batch.samples[row] for row in batch.sample_N[micro.index_N[broken_N]].unique().tolist()]
