"""The shape of an estimate: what lies in a device's memory, when, and by which arithmetic."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from math import inf
from typing import Any, Literal

from agentic_rl.config.memory.sizes import show_size

Phase = Literal["always", "rollout", "update"]
PHASES: tuple[Phase, ...] = ("rollout", "update")
"""The two times of a training step; what lies there `always` counts in both."""
MOST = 0.95
"""Share of a device's memory above which a phase does not fit: fragments and the driver's context need the rest."""
MOST_RESERVED = 1.05
"""The same beside an engine's reserved share. That holds fragments, context and working memory of a whole forward pass,
some percent of a device that no rollout touches at once, and vLLM up to 0.11 counts in it what was there before."""


@dataclass(frozen=True)
class Item:
    """One line of an estimate."""

    name: str
    phase: Phase
    bytes: int
    formula: str
    """In words with the numbers."""
    reserved: bool = False
    """Set aside as a whole, working memory and fragments included, by an engine that keeps to it."""


@dataclass(frozen=True)
class Estimate:
    """What one device holds; pure arithmetic on configured values and on the model's sizes."""

    backend: str
    items: tuple[Item, ...]
    device_memory: int | None = None
    """Bytes of one device, where they are known."""

    def total(self, phase: Phase) -> int:
        """Bytes held in a phase."""
        return sum(item.bytes for item in self.items if item.phase in ("always", phase))

    def most(self, phase: Phase) -> float:
        """Share of a device's memory above which a phase does not fit."""
        return MOST_RESERVED if any(item.reserved and item.phase == phase for item in self.items) else MOST

    @property
    def excess(self) -> Phase | None:
        """The phase that does not fit on the device, the larger one of two; None where all fits or nothing is known."""
        too_large = [phase for phase in PHASES if self.total(phase) > self.most(phase) * (self.device_memory or inf)]
        return max(too_large, key=self.total, default=None)

    @property
    def peak_phase(self) -> Phase:
        """The phase that needs most."""
        return max(PHASES, key=self.total)

    @property
    def peak(self) -> int:
        """Bytes of the phase that needs most."""
        return self.total(self.peak_phase)

    @property
    def share(self) -> float | None:
        """The peak as a share of the device's memory."""
        return self.peak / self.device_memory if self.device_memory else None

    def to_dict(self) -> dict[str, Any]:
        """The JSON form: the items, and what follows from them."""
        return {
            "items": [asdict(item) for item in self.items],
            "rollout": self.total("rollout"),
            "update": self.total("update"),
            "peak": self.peak,
            "device_memory": self.device_memory,
        }

    def lines(self) -> list[str]:
        """The form for people: the peak, then one line an item with its arithmetic."""
        card = f", {self.share:.0%} of {show_size(self.device_memory or 0)}" if self.share else ""
        sums = ", ".join(f"{show_size(self.total(phase))} in the {phase}" for phase in PHASES)
        lines = [f"estimated for one device: {show_size(self.peak)}{card} ({sums})"]
        for_each = (f"{item.phase:<8}{show_size(item.bytes):>10}  {item.name}: {item.formula}" for item in self.items)
        return [*lines, *for_each]
