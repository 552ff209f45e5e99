"""Draws report.png: what `agentic-rl check` prints about a file with several mistakes.

`python docs/assets/report.py` writes it anew from the command's own output.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt

CONFIG = """\
tokenizer_name_or_path: ~/models/qwen2.5-7b
agent_name: math
train_backend: verl
rollout_n: 65
lr: 1e-6
use_kl_in_reward: 'False'
entropy_coef: 0.01
verl:
  train_files: /data/gsm8k/train.parquet
  val_files: /data/gsm8k/test.parquet
  train_batch_size: 32
  ppo_mini_batch_size: 64
  use_kl_loss: true
  num_cycles: 1.0
"""
COLOURS = {"error": "#ff7b72", "warning": "#e3b341", "note": "#79c0ff", "fix": "#7ee787"}
BACKGROUND, TEXT, WIDTH = "#0d1117", "#c9d1d9", 134


def report() -> list[str]:
    """The command and its output, line by line."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "config.yaml"
        path.write_text(CONFIG)
        command = [sys.executable, "-m", "agentic_rl", "check", "config.yaml", "--no-files"]
        environ = {**os.environ, "HOME": "/home/me"}  # the picture is the same whoever draws it
        done = subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, check=False)
    return ["$ agentic-rl check config.yaml --no-files", *done.stdout.splitlines()]


def wrapped(line: str) -> list[str]:
    """The line cut at words, continued with an indent, as a terminal of WIDTH columns would be read."""
    words, lines = re.split(r"(?<=\S) ", line), [""]
    for word in words:
        if lines[-1] and len(lines[-1]) + 1 + len(word) > WIDTH:
            lines.append("        " + word)
        else:
            lines[-1] += (" " if lines[-1] else "") + word
    return lines


def main() -> None:
    """Draw the picture."""
    lines = [(part, line) for line in report() for part in wrapped(line)]
    height = 0.22 * len(lines) + 0.3
    figure = plt.figure(figsize=(10.4, height), facecolor=BACKGROUND)
    for number, (part, whole) in enumerate(lines):
        kind = next((name for name in COLOURS if f" {name} ARL" in whole or whole.startswith(f"    {name}:")), "")
        figure.text(
            0.015,
            1 - (number + 1.2) * 0.22 / height,
            part,
            family="DejaVu Sans Mono",
            size=9,
            color=COLOURS.get(kind, TEXT),
            parse_math=False,
        )
    figure.savefig(Path(__file__).with_name("report.png"), dpi=110, facecolor=BACKGROUND)


if __name__ == "__main__":
    main()
