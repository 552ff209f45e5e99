"""Means over the tokens and updates of one training step."""

from __future__ import annotations

from torch import Tensor


class StepMetrics:
    """Collects values by name; their means are the step's metrics."""

    def __init__(self) -> None:
        self._sums: dict[str, Tensor] = {}
        self._counts: dict[str, int] = {}

    def add(self, name: str, values: Tensor) -> None:
        """Count all elements of `values` in; nothing is copied from the device before `means`."""
        total = values.detach().sum()
        self._sums[name] = self._sums[name] + total if name in self._sums else total
        self._counts[name] = self._counts.get(name, 0) + values.numel()

    def __contains__(self, name: object) -> bool:
        return name in self._counts

    def means(self) -> dict[str, float]:
        """The mean of each name's values."""
        return {name: total.item() / max(self._counts[name], 1) for name, total in self._sums.items()}
