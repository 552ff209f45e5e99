"""The quickstart with several seeds, each as a process of its own: accuracy before and after, CPU seconds, memory.

    python benchmarks/quickstart_seeds.py [--seeds 11 23 37 41 53] [--set lr=1e-3 ...]

A seed decides the random weights, the questions, the sampling and the order of the data. The five default seeds were
chosen before any of them was run; the recipe was found with the seeds 1 to 10 and 12. Accuracy is that of the likeliest
tokens on 256 questions with pairs of numbers that are never trained on. Exit status 1 unless every seed starts at
most at 0.35 and ends at least at 0.93 within 70 CPU seconds.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from measure import Cost, cost_of

from agentic_rl.projects import create

SEEDS = (11, 23, 37, 41, 53)
START_AT_MOST, END_AT_LEAST, CPU_SECONDS = 0.35, 0.93, 70.0
SOURCES = ("add", "subtract", "multiply", "divide")


def train(folder: Path, seed: int, overrides: list[str]) -> tuple[Cost, list[dict[str, Any]]]:
    """One whole run by the command; its cost and its evaluations in their order."""
    create("quickstart", folder / "project", seed=seed)
    command = [sys.executable, "-m", "agentic_rl", "--config-path", "project/config.yaml", *overrides]
    with (folder / "output.txt").open("w") as output:
        cost = cost_of(subprocess.Popen(command, cwd=folder, stdout=output, stderr=subprocess.STDOUT))
    if cost.returncode:
        print((folder / "output.txt").read_text()[-2000:])
    lines = (folder / "checkpoints" / "quickstart" / f"seed-{seed}" / "metrics.jsonl").read_text().splitlines()
    return cost, [record for record in map(json.loads, lines) if record["phase"] == "evaluation"]


def report(seed: int, cost: Cost, evaluations: list[dict[str, Any]]) -> bool:
    """Print one seed's line; whether it is as good as it must be."""
    rewards = [evaluation["eval/reward"] for evaluation in evaluations]
    course = " ".join(f"{reward:.3f}" for reward in rewards)
    parts = "  ".join(f"{source} {evaluations[-1][f'eval/reward/calc/{source}']:.3f}" for source in SOURCES)
    fine = (
        cost.returncode == 0
        and rewards[0] <= START_AT_MOST
        and rewards[-1] >= END_AT_LEAST
        and cost.cpu_seconds <= CPU_SECONDS
    )
    verdict = "ok" if fine else "MISSED"
    print(
        f"seed {seed:3}  {course}  ({parts})  {cost.cpu_seconds:5.1f} CPU s  {cost.peak_mib:4.0f} MiB  {verdict}",
        flush=True,
    )
    return fine


def main() -> int:
    """Run the seeds one after the other."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, nargs="+", default=SEEDS)
    parser.add_argument("--set", nargs="+", default=[], metavar="KEY=VALUE", help="overrides of the configuration")
    arguments = parser.parse_args()
    fine = True
    print("accuracy after the warm-up, every 10 steps, at the end (per operation at the end)")
    for seed in arguments.seeds:
        with tempfile.TemporaryDirectory() as folder:
            fine &= report(seed, *train(Path(folder), seed, arguments.set))
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
