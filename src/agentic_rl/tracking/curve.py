"""The learning curve as a picture, drawn from the lines of metrics.jsonl."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentic_rl.config.writing import replace_file

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Points = list[tuple[int, float]]
"""(step, value), in the order of the steps."""

REWARD, HELD_OUT, GRID, TEXT = "#9db7d5", "#c8442f", "#e3e3e3", "#333333"
SMOOTH = "#2c5d94"
SOURCES = ("#7a9e3f", "#b07cc6", "#d99a2b", "#4fa3a5", "#8c6d5a", "#777777")


@dataclass
class Curves:
    """What a run's measurements say about learning."""

    training: Points = field(default_factory=list)
    held_out: Points = field(default_factory=list)
    by_source: dict[str, Points] = field(default_factory=dict)


def read_curves(lines: Iterable[str]) -> Curves:
    """Collect the rewards from JSON lines; a line that was cut off is left out."""
    curves = Curves()
    for line in lines:
        record = _record(line)
        _collect(curves, int(record.get("step", 0)), record)
    return curves


def _record(line: str) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except ValueError:
        return {}
    return record if isinstance(record, dict) else {}


def _collect(curves: Curves, step: int, record: dict[str, Any]) -> None:
    prefix = "eval/reward/"
    for name, value in record.items():
        if value is None:
            continue
        if name == "reward/mean":
            curves.training.append((step, value))
        elif name == "eval/reward":
            curves.held_out.append((step, value))
        elif name.startswith(prefix):
            curves.by_source.setdefault(name[len(prefix) :], []).append((step, value))


def smooth(points: Points, weight: float = 0.7) -> Points:
    """Exponential moving average with bias correction, so that the first points are not pulled to 0."""
    total = norm = 0.0
    smoothed: Points = []
    for step, value in points:
        total = weight * total + (1 - weight) * value
        norm = weight * norm + (1 - weight)
        smoothed.append((step, total / norm))
    return smoothed


def draw(metrics: Path, picture: Path, title: str) -> bool:
    """Draw the curves of `metrics` into the PNG file `picture`; False where there is nothing to draw."""
    with metrics.open(encoding="utf-8", errors="replace") as lines:
        curves = read_curves(lines)
    if not curves.training and not curves.held_out:
        return False
    with replace_file(picture) as file:
        file.write(_png(curves, title))
    return True


def _png(curves: Curves, title: str) -> bytes:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    # Not pyplot: it would choose a window system and keep the figure for ever.
    figure = Figure(figsize=(7.2, 4.3), dpi=130, layout="constrained")
    FigureCanvasAgg(figure)
    _fill(figure, curves, title)
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png")
    return buffer.getvalue()


def _fill(figure: Figure, curves: Curves, title: str) -> None:
    axes = figure.add_subplot()
    if curves.training:
        axes.plot(*_columns(curves.training), color=REWARD, linewidth=1, label="training reward (sampled)")
        axes.plot(*_columns(smooth(curves.training)), color=SMOOTH, linewidth=2, label="training reward, smoothed")
    if len(curves.by_source) > 1:
        for colour, (source, points) in zip(_cycle(len(curves.by_source)), curves.by_source.items(), strict=True):
            label = f"held-out: {source or 'no source'}"
            axes.plot(*_columns(points), color=colour, linewidth=1.2, linestyle=(0, (4, 2)), label=label)
    if curves.held_out:
        axes.plot(*_columns(curves.held_out), color=HELD_OUT, linewidth=2.2, marker="o", markersize=5,
                  label="held-out reward (greedy)", zorder=5)  # fmt: skip
        step, value = curves.held_out[-1]
        axes.annotate(f"{value:.2f}", (step, value), xytext=(0, 8), textcoords="offset points", ha="center",
                      color=HELD_OUT, fontweight="bold", zorder=6)  # fmt: skip
    _style(axes, curves, title)


def _cycle(count: int) -> list[str]:
    return [SOURCES[number % len(SOURCES)] for number in range(count)]


def _columns(points: Points) -> tuple[Sequence[int], Sequence[float]]:
    return [step for step, _ in points], [value for _, value in points]


def _style(axes: Axes, curves: Curves, title: str) -> None:
    from matplotlib.ticker import MaxNLocator

    every = [value for points in (curves.training, curves.held_out, *curves.by_source.values()) for _, value in points]
    if min(every) >= 0 and max(every) <= 1:
        axes.set_ylim(-0.03, 1.08)
    axes.set_xlabel("training step", color=TEXT)
    axes.set_ylabel("mean reward", color=TEXT)
    axes.set_title(title, color=TEXT, loc="left", fontsize=11)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.grid(color=GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=8.5, loc="best")
