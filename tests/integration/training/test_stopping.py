from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import sabotage
import tiny_project
from runs import Run, assert_equal_runs

pytestmark = pytest.mark.integration


@pytest.mark.parametrize(
    ("moment", "signal"),
    [(sabotage.interrupt_in_rollout, "SIGINT"), (sabotage.terminate_in_update, "SIGTERM")],
    ids=["ctrl-c in a rollout", "SIGTERM in an update"],
)
def test_a_stop_leaves_a_checkpoint_of_the_last_whole_step(
    moment: Callable[[], None], signal: str, run: Run, train: Callable[..., int], uninterrupted: Run
) -> None:
    assert train(run, moment) == 130, run.output
    assert f"{signal}: stopping after the last whole step" in run.output
    assert run.output.splitlines()[-1].startswith("interrupted after step 3: the same command goes on from")
    assert run.steps() == [2, 3]
    assert (run.folder / "latest_checkpointed_iteration.txt").read_text() == "3"
    assert (run.folder / "learning_curve.png").exists()
    assert train(run) == 0, run.output
    assert run.metrics() == uninterrupted.metrics()
    assert run.trajectories() == uninterrupted.trajectories()
    assert run.weights() == uninterrupted.weights()


def test_a_stop_in_the_warm_up_saves_nothing_and_says_so(
    run: Run, train: Callable[..., int], uninterrupted: Run
) -> None:
    assert train(run, sabotage.interrupt_in_warmup) == 130, run.output
    last = run.output.splitlines()[-1]
    assert last.startswith("interrupted in the warm-up, which is lost: there is no training step to save yet")
    assert run.steps() == []
    assert train(run) == 0, run.output
    assert_equal_runs(run, uninterrupted)


def test_an_evaluation_that_was_stopped_is_made_up_for_before_the_run_is_finished(
    run: Run, train: Callable[..., int], uninterrupted: Run
) -> None:
    assert train(run, sabotage.interrupt_in_last_evaluation) == 130, run.output
    assert "interrupted after step 6" in run.output
    assert train(run) == 0, run.output
    assert "evaluation at step 6" in run.output
    assert_equal_runs(run, uninterrupted)
    assert train(run) == 0
    assert "already finished" in run.output


def test_a_second_ctrl_c_stops_at_once_without_a_checkpoint(run: Run, train: Callable[..., int]) -> None:
    assert train(run, sabotage.interrupt_twice) == 130, run.output
    assert run.steps() == [0, 2]


def test_a_number_that_is_not_finite_stops_the_run_with_the_step_and_the_batch(
    run: Run, train: Callable[..., int]
) -> None:
    assert train(run, sabotage.poison_the_weights) == 1, run.output
    assert "error step 3: the loss is not a finite number" in run.output
    assert "fix: look at these samples" in run.output
    batch = [json.loads(line) for line in (run.folder / "failed_batch.jsonl").read_text().splitlines()]
    assert batch
    assert all(len(sample["tokens"]) == sample["prompt_length"] + len(sample["mask"]) for sample in batch)
    assert run.steps() == [0, 2]
    assert all(line["step"] <= 2 for line in run.metrics() if line["phase"] == "training")


def test_weights_that_are_not_finite_from_the_start_are_reported(tmp_path: Path, train: Callable[..., int]) -> None:
    folder = tmp_path / "files"
    config = tiny_project.make_project(folder, {"val_before_train": False})
    tiny_project.write_model(folder / "model", poison=True)
    tiny_project.write_config(folder, {"val_before_train": False})
    run = Run(tmp_path, config)
    assert train(run) == 1
    assert "error step 1: 16 of 16 rollouts failed, more than max_failed_fraction 0.5" in run.output
    assert "logits are not finite" in run.output
    assert run.steps() == []


def test_a_disk_that_takes_no_more_stops_the_run_and_keeps_the_older_checkpoint(
    run: Run, train: Callable[..., int], uninterrupted: Run
) -> None:
    assert train(run, sabotage.small_disk) == 1, run.output
    assert "the checkpoint can't be written" in run.output
    assert "fix: raise the limit of a file's size" in run.output
    assert run.steps() == [0]
    assert not list(run.folder.glob(".saving_*"))
    assert train(run) == 0, run.output
    assert_equal_runs(run, uninterrupted)
