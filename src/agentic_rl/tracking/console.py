"""What a person sees: a progress bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TextIO

from agentic_rl.tracking.base import Phase, Tracker

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

WARMUP_LINES = 10
"""So many lines of a warm-up are printed where there is no bar."""


def console_tracker(stream: TextIO | None = None) -> Tracker:
    """A bar where `stream` (standard error) is a terminal, plain lines where it is not."""
    stream = stream or sys.stderr
    return BarTracker(stream) if stream.isatty() else LineTracker(stream)


def summary(phase: Phase, metrics: Mapping[str, float]) -> str:
    """The few measurements that a person wants in one line."""
    if phase == "warm-up":
        return f"loss {metrics.get('sft/loss', float('nan')):.3f}"
    if phase == "evaluation":
        return _evaluation(metrics)
    parts = [f"reward {metrics.get('reward/mean', float('nan')):.3f}"]
    parts.append(f"length {metrics.get('response_length/mean', float('nan')):.1f}")
    parts.append(f"{metrics.get('rollout/tokens_per_second', 0.0):,.0f} tokens/s")
    if failed := metrics.get("reward/failed_fraction", 0.0):
        parts.append(f"failed {failed:.1%}")
    return "  ".join(parts)


def _evaluation(metrics: Mapping[str, float]) -> str:
    """The mean, and the means of the sources where there are several."""
    prefix = "eval/reward/"
    sources = {name[len(prefix) :]: value for name, value in metrics.items() if name.startswith(prefix)}
    text = f"held-out reward {metrics.get('eval/reward', float('nan')):.3f}"
    if len(sources) > 1:
        text += "  (" + ", ".join(f"{name} {value:.3f}" for name, value in sources.items()) + ")"
    return text


class LineTracker:
    """Plain lines, one a step, for logs and pipes."""

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = stream
        self._clock = clock
        self._total = self._first = 0
        self._started = clock()

    def begin(self, phase: Phase, total: int, done: int) -> None:
        """Start to count the time that is left."""
        self._total, self._first, self._started = total, done, self._clock()

    def log(self, phase: Phase, step: int, metrics: Mapping[str, float]) -> None:
        """Print one line."""
        if phase == "evaluation":
            self.note(f"evaluation at step {step}  {summary(phase, metrics)}")
        elif phase == "training" or step % max(1, self._total // WARMUP_LINES) == 0:
            left = _minutes(self._seconds_left(step))
            self.note(f"{phase} {step}/{self._total}  {summary(phase, metrics)}  left {left}")

    def note(self, text: str) -> None:
        """Print the line."""
        print(text, file=self._stream, flush=True)

    def close(self) -> None:
        """Nothing is held back."""

    def _seconds_left(self, step: int) -> float:
        done = step - self._first
        return (self._clock() - self._started) / done * (self._total - step) if done > 0 else 0.0


def _minutes(seconds: float) -> str:
    whole = round(seconds)
    hours, minutes = divmod(whole // 60, 60)
    return f"{hours}:{minutes:02}:{whole % 60:02}" if hours else f"{minutes}:{whole % 60:02}"


class BarTracker:
    """A progress bar with reward, length, tokens per second and time left; evaluations as lines above it."""

    REFRESH_SECONDS = 0.2

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._progress: Progress | None = None
        self._bar: TaskID | None = None
        self._drawn = 0.0

    def begin(self, phase: Phase, total: int, done: int) -> None:
        """Start a bar for the phase, below those of earlier phases."""
        bars = self._bars()
        self._bar = bars.add_task(phase, total=total, completed=done, summary="")
        bars.refresh()

    def log(self, phase: Phase, step: int, metrics: Mapping[str, float]) -> None:
        """Advance the bar; an evaluation is a line of its own."""
        if phase == "evaluation":
            self.note(f"evaluation at step {step}  {summary(phase, metrics)}")
        elif self._bar is not None:
            bars = self._bars()
            bars.update(self._bar, completed=step, summary=summary(phase, metrics))
            self._refresh(bars, now=time.monotonic(), last=step == bars.tasks[self._bar].total)

    def note(self, text: str) -> None:
        """Print a line above the bar, or below it once it is closed."""
        self._bars().console.print(text, highlight=False, markup=False, soft_wrap=True)

    def close(self) -> None:
        """Leave the bar as it stands; may be called twice."""
        if self._progress is not None:
            self._progress.stop()

    def _refresh(self, bars: Progress, now: float, last: bool) -> None:
        """Draw, but not for every step of a fast phase: drawing costs milliseconds."""
        if last or now - self._drawn >= self.REFRESH_SECONDS:
            self._drawn = now
            bars.refresh()

    def _bars(self) -> Progress:
        if self._progress is None:
            self._progress = _new_progress(self._stream)
            self._progress.start()
        return self._progress


def _new_progress(stream: TextIO) -> Progress:
    """A display that draws only when told: rich's own thread would take time from the run."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TextColumn("{task.fields[summary]}"),
        TimeRemainingColumn(compact=True),
        console=Console(file=stream),
        auto_refresh=False,
    )
