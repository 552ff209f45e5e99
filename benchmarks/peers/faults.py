"""Twelve faults, each planted alone in a correct file, and all at once.

The file has one section, so that every peer can express it with the types that it offers: choices, ranges, required
keys, existing files. What a project would have to program itself in a peer (relations) is planted as well: that a
tool has no rules of its own is what the comparison shows.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

GOOD = """\
tokenizer_name_or_path: {model}
agent_name: math
train_backend: verl
lr: 1.0e-06
temperature: 1.0
top_p: 0.9
rollout_n: 8
max_steps: 4
max_tokens: 512
seed: 1
entropy_coeff: 0.001
test_only: false
use_kl_in_reward: true
verl:
  train_files: {rows}
  val_files: {rows}
  train_batch_size: 32
  ppo_mini_batch_size: 16
  adv_estimator: grpo
  use_kl_loss: false
"""


@dataclass(frozen=True)
class Fault:
    """One change of the good file, and what a report about it must say."""

    name: str
    old: str
    new: str
    key: str
    """The key that a report must name."""
    suggestion: str
    """What a report must match to count as a suggestion: the right name, the choices, the range."""

    def plant(self, text: str) -> str:
        """The text with this fault."""
        return text.replace(self.old, self.new, 1)

    def line(self, text: str) -> int:
        """The line of the fault in a text that has it; of its section's head for a key that is missing."""
        wanted = self.new.strip().splitlines()[-1] if self.new.strip() else "verl:"
        return next(number for number, line in enumerate(text.splitlines(), 1) if line.strip() == wanted)

    def found(self, report: str) -> bool:
        """Whether a report names the key."""
        return bool(re.search(rf"\b{self.key}\b|{self.key.replace('_', '-')}", report))

    def located(self, report: str, file: Path, text: str) -> bool:
        """Whether a report gives the line, as `file:LINE` or in words."""
        return bool(re.search(rf"{re.escape(file.name)}:{self.line(text)}\b|line {self.line(text)}\b", report))

    def suggests(self, report: str) -> bool:
        """Whether a report says what to write."""
        return bool(re.search(self.suggestion, report, re.IGNORECASE))


def faults(rows: str) -> list[Fault]:
    """All twelve; `rows` is the data file of the good text."""
    missing = rows.replace("train.parquet", "trian.parquet")
    return [
        Fault("misspelled key", "rollout_n: 8", "rolout_n: 8", "rolout_n", r"\brollout[_-]n\b"),
        Fault("word for a number", "max_steps: 4", "max_steps: four", "max_steps", r"whole number|integer|\bint\b"),
        Fault("number out of range", "lr: 1.0e-06", "lr: -1.0", "lr", r"greater than 0|> ?0"),
        Fault("value above its range", "top_p: 0.9", "top_p: 1.5", "top_p", r"at most 1|less than or equal to 1|<= ?1"),
        Fault("misspelled choice", "adv_estimator: grpo", "adv_estimator: grop", "adv_estimator", r"\bgrpo\b"),
        Fault("switch in quotes", "test_only: false", "test_only: 'False'", "test_only", r"without quotes|boolean"),
        Fault("key written twice", "seed: 1", "seed: 1\nseed: 2", "seed", r"twice|duplicate"),
        Fault("required key missing", f"  val_files: {rows}\n", "", "val_files", r"missing|required"),
        Fault(
            "key at the wrong level", "max_tokens: 512", "max_tokens: 512\nnnodes: 1", "nnodes", r"below|verl\.nnodes"
        ),
        Fault(
            "file that is not there",
            f"train_files: {rows}",
            f"train_files: {missing}",
            "train_files",
            r"train\.parquet",
        ),
        Fault(
            "mini batch above the batch",
            "ppo_mini_batch_size: 16",
            "ppo_mini_batch_size: 64",
            "ppo_mini_batch_size",
            r"\b32\b",
        ),
        Fault(
            "KL counted twice",
            "use_kl_loss: false",
            "use_kl_loss: true",
            "use_kl_loss",
            r"use_kl_in_reward: false|use one of them",
        ),
    ]
