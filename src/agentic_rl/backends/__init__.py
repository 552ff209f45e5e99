"""Trainers: what learns. Importing this room loads no torch."""

from __future__ import annotations

from agentic_rl.backends.base import Plan, Trainer, TrainResult
from agentic_rl.backends.registry import trainer_for, trainers_of

__all__ = ["Plan", "TrainResult", "Trainer", "trainer_for", "trainers_of"]
