"""Writes the quickstart: configuration, model, data, README."""

from __future__ import annotations

import random
from importlib import resources
from pathlib import Path
from string import Template

from agentic_rl.config.writing import make_folder, open_new
from agentic_rl.projects.folder import new_project
from agentic_rl.projects.quickstart.demonstrations import make_demonstrations
from agentic_rl.projects.quickstart.model import write_model
from agentic_rl.projects.quickstart.problems import make_problems
from agentic_rl.projects.quickstart.tables import write_conversations, write_tasks
from agentic_rl.projects.quoting import quoted

TRAIN_TASKS, TEST_TASKS, DEMONSTRATIONS = 1600, 256, 4096


def write(folder: Path, seed: int) -> list[Path]:
    """Write the project into `folder`; see `projects.create`."""
    with new_project(folder) as (staging, target):
        write_model(make_folder(staging / "model"), seed)
        _write_data(make_folder(staging / "data"), seed)
        for name in ("config.yaml", "README.md"):
            _write_text(staging / name, _fill_in(name, target, seed))
    return sorted(path for path in target.rglob("*") if path.is_file())


def _write_data(folder: Path, seed: int) -> None:
    """Each file from a random stream of its own: a change of one leaves the others as they are."""
    write_tasks(folder / "train.parquet", make_problems(TRAIN_TASKS, _stream(seed, "train"), test=False), "train")
    write_tasks(folder / "test.parquet", make_problems(TEST_TASKS, _stream(seed, "test"), test=True), "test")
    demonstrations = make_demonstrations(DEMONSTRATIONS, _stream(seed, "demonstrations"))
    write_conversations(folder / "demonstrations.parquet", demonstrations)


def _stream(seed: int, name: str) -> random.Random:
    return random.Random(f"{seed}/{name}")  # noqa: S311 - data, not secrets


def _fill_in(name: str, target: Path, seed: int) -> str:
    text = resources.files(__package__).joinpath(name).read_text("utf-8")
    paths = {
        "config": target / "config.yaml",
        "model": target / "model",
        "train": target / "data" / "train.parquet",
        "test": target / "data" / "test.parquet",
        "demonstrations": target / "data" / "demonstrations.parquet",
    }
    return Template(text).substitute({key: quoted(path) for key, path in paths.items()}, seed=seed)


def _write_text(path: Path, text: str) -> None:
    with open_new(path) as file:
        file.write(text.encode())
