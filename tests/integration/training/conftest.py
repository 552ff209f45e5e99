"""Real processes that train a tiny project: forked from one server that has imported torch already."""

from __future__ import annotations

import multiprocessing
import multiprocessing.context
import multiprocessing.process
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

HERE = str(Path(__file__).parent)
if HERE not in sys.path:
    sys.path.insert(0, HERE)

import tiny_project  # noqa: E402 - found through the line above, here and in the forked processes
import training_child  # noqa: E402
from runs import Run  # noqa: E402

Start = Callable[..., int]


@pytest.fixture(scope="session")
def forks() -> multiprocessing.context.ForkServerContext:
    context = multiprocessing.get_context("forkserver")
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    heavy = ["matplotlib.figure", "matplotlib.backends.backend_agg", "pyarrow.parquet", "pyarrow.compute"]
    ours = [
        "training_child",
        "agentic_rl.cli.train",
        "agentic_rl.backends.local.run",
        "agentic_rl.backends.local.trainer",
    ]
    context.set_forkserver_preload([*heavy, *ours])
    return context


@pytest.fixture(scope="session")
def begin(
    forks: multiprocessing.context.ForkServerContext,
) -> Callable[..., multiprocessing.process.BaseProcess]:
    """Start training in a process of its own and return at once."""

    def start(run: Run, sabotage: Callable[[], None] | None = None) -> multiprocessing.process.BaseProcess:
        arguments = (str(run.config), str(run.cwd), str(run.cwd / "stderr.txt"), sabotage)
        process = forks.Process(target=training_child.train, args=arguments)
        process.start()
        return process

    return start


@pytest.fixture(scope="session")
def train(begin: Callable[..., multiprocessing.process.BaseProcess]) -> Start:
    """Train in a process of its own to its end; its exit status, -9 after a kill."""

    def start(run: Run, sabotage: Callable[[], None] | None = None) -> int:
        process = begin(run, sabotage)
        process.join(120)
        assert process.exitcode is not None, "the run does not end"
        return process.exitcode

    return start


@pytest.fixture(scope="session")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The configuration of a project with a warm-up; tests must not change it."""
    folder = tmp_path_factory.mktemp("project") / "files"
    warmup = {"sft_files": str(folder / "warmup.parquet"), "sft_steps": 4, "sft_batch_size": 3}
    return tiny_project.make_project(folder, warmup)


@pytest.fixture
def run(project: Path, tmp_path: Path) -> Run:
    """An empty folder to train the project in."""
    return Run(tmp_path, project)


@pytest.fixture(scope="session")
def uninterrupted(project: Path, train: Start, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """The project, trained without a break."""
    whole = Run(tmp_path_factory.mktemp("whole"), project)
    assert train(whole) == 0, whole.output
    return whole
