"""The configured values that the estimates share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from agentic_rl.config.memory.lookup import Lookup

_MOST = 1 << 40


@dataclass(frozen=True)
class Settings:
    """Values by dotted key. What is absent or broken raises LookupError: then there is no estimate."""

    values: Lookup

    def __getitem__(self, key: str) -> Any:
        return _bounded(self.values[key])

    def own(self, name: str) -> Any:
        """The value of `name` in the section of the chosen backend."""
        return _bounded(self.values[f"{self.backend}.{name}"])

    @property
    def backend(self) -> str:
        """The chosen backend."""
        return str(self.values.get("train_backend"))

    @property
    def evaluates_only(self) -> bool:
        """Whether nothing is trained."""
        return bool(self.values.get("test_only") or self.values.get(f"{self.backend}.val_only"))

    @property
    def longest_sample(self) -> int:
        """Tokens of the longest sample: prompt and response, as far as the engine makes them."""
        return min(int(self["max_prompt_length"]) + int(self.own("max_response_length")), int(self["max_model_len"]))

    @property
    def response(self) -> int:
        """Tokens after the prompt in the longest sample."""
        return max(1, self.longest_sample - int(self["max_prompt_length"]))

    @property
    def mini_batch(self) -> int:
        """Prompts of one optimizer step."""
        return min(int(self.own("ppo_mini_batch_size")), int(self.own("train_batch_size")))

    @property
    def reference_model(self) -> bool:
        """Whether a second, frozen model is held for the KL divergence."""
        return bool(self["use_kl_in_reward"] or self.own("use_kl_loss"))

    @property
    def engine_rows(self) -> int:
        """Sequences that the engines of a whole run decode at once: those of a training step, or of a validation."""
        training = int(self.own("train_batch_size")) * int(self["rollout_n"])
        validation = int(self.own("val_batch_size")) if self._validates else 0
        rows = self.values.get("@val.rows")
        validation = min(validation, rows) if isinstance(rows, int) else validation
        return min(max(training, validation), int(self["n_parallel_agents"]))

    @property
    def _validates(self) -> bool:
        return bool(self["test_before_train"] or self.own("val_before_train") or self.own("test_freq") > 0)


def per_device(total: int, devices: int) -> int:
    """A total split evenly, rounded up."""
    return -(-total // devices)


def _bounded(value: Any) -> Any:
    """Nonsense of a hundred digits is as much too large as this, and can still be reckoned with."""
    return min(value, _MOST) if isinstance(value, int) else value
