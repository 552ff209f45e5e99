"""Installs the peers, shows each of them the faults, and prints what they say about how many."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import venv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from measure import Cost, alternate

from peers.faults import GOOD, Fault, faults

PROGRAMS = Path(__file__).parent / "programs"
PACKAGES = {
    "prime": ["prime-pydantic-config[all]"],
    "jsonargparse": ["jsonargparse", "PyYAML"],
    "hydra": ["hydra-core"],
    "tyro": ["tyro", "PyYAML"],
    "trl": ["trl", "torch==2.13.0"],
}
_USAGE = re.compile(r"^usage:.*?(?=^\S*:? ?error)", re.DOTALL | re.MULTILINE | re.IGNORECASE)
ROUNDS = 3


@dataclass(frozen=True)
class Score:
    """How many of the faults one tool does what with."""

    alone: int
    at_once: int
    located: int
    suggested: int


def installed(folder: Path, names: Sequence[str]) -> dict[str, list[str]]:
    """Tool -> the command that reads a file with it; peers are installed below `folder` unless they are there."""
    commands = {"agentic_rl": [sys.executable, "-m", "agentic_rl", "check"]}
    for name in names:
        python = folder / name / "bin" / "python"
        if not python.exists():
            venv.create(folder / name, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *PACKAGES[name]], check=True)
        commands[name] = [str(python), str(PROGRAMS / f"{name}.py")]
    return commands


def compare(folder: Path, names: Sequence[str] = tuple(PACKAGES)) -> None:
    """Print the table. `folder` keeps the environments of the peers for the next time."""
    commands = installed(folder, names)
    with tempfile.TemporaryDirectory() as temporary:
        work = Path(temporary)
        text, planted = _project(work)
        good = _written(work / "good.yaml", text)
        costs = alternate({name: [*command, str(good)] for name, command in commands.items()}, ROUNDS)
        scores = {name: _score(command, work, text, planted) for name, command in commands.items()}
    print(f"{'of 12 faults':16}{'found':>8}{'at once':>9}{'located':>9}{'suggested':>11}{'CPU s':>8}{'MiB':>8}")
    for name, score in scores.items():
        _print(name, score, costs[name])


def _print(name: str, score: Score, cost: Cost) -> None:
    if cost.returncode:
        print(f"{name:16}refuses the correct file")
        return
    counts = f"{score.alone:8}{score.at_once:9}{score.located:9}{score.suggested:11}"
    print(f"{name:16}{counts}{cost.cpu_seconds:8.2f}{cost.peak_mib:8.0f}")


def _project(folder: Path) -> tuple[str, list[Fault]]:
    """The text of a correct file whose files are there, and the faults."""
    make_quickstart(folder / "project")
    model, rows = folder / "project" / "model", folder / "project" / "data" / "train.parquet"
    return GOOD.format(model=model, rows=rows), faults(str(rows))


def make_quickstart(folder: Path) -> Path:
    """The quickstart's configuration, made by another process: what this one holds would count as its children's."""
    subprocess.run([sys.executable, "-m", "agentic_rl", "init", "quickstart", folder], check=True, capture_output=True)
    return folder / "config.yaml"


def _written(path: Path, text: str) -> Path:
    path.write_text(text)
    path.chmod(0o640)
    return path


def _score(command: list[str], folder: Path, text: str, planted: list[Fault]) -> Score:
    alone = located = suggested = 0
    everything = text
    for fault in planted:
        everything = fault.plant(everything)
        broken = fault.plant(text)
        file = _written(folder / "broken.yaml", broken)
        report = _report([*command, str(file)])
        if report is None:
            continue
        alone += 1
        located += fault.located(report, file, broken)
        suggested += fault.suggests(report)
    report = _report([*command, str(_written(folder / "everything.yaml", everything))]) or ""
    return Score(alone, sum(fault.found(report) for fault in planted), located, suggested)


def _report(command: list[str]) -> str | None:
    """What the tool says about a broken file, without its usage; None where it accepts the file."""
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env={**os.environ, "COLUMNS": "200", "NO_COLOR": "1"}
    )
    return _USAGE.sub("", done.stdout + done.stderr) if done.returncode else None
