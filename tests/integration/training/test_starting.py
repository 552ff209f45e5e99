from __future__ import annotations

import asyncio
import json
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import sabotage
import tiny_project
from runs import Run

from agentic_rl.backends import TrainResult, trainer_for
from agentic_rl.config.load import load
from agentic_rl.config.secure_paths import check_path

pytestmark = pytest.mark.integration


def modes(folder: Path) -> Iterator[tuple[Path, int]]:
    yield folder, stat.S_IMODE(folder.stat().st_mode)
    for path in folder.rglob("*"):
        yield path, stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("umask", [sabotage.open_umask, sabotage.closed_umask], ids=["000", "077"])
def test_everything_written_has_the_documented_modes_whatever_the_umask(
    umask: Callable[[], None], project: Path, tmp_path: Path, train: Callable[..., int]
) -> None:
    folder = tmp_path / "files"
    config = tiny_project.make_project(folder, {"total_training_steps": 2}, use_tensorboard=True)
    run = Run(tmp_path, config)
    assert train(run, umask) == 0, run.output
    wrong = {
        str(path): oct(mode)
        for path, mode in modes(run.cwd / "checkpoints")
        if mode != (0o750 if path.is_dir() else 0o640)
    }
    assert wrong == {}
    assert list((run.folder / "tensorboard").iterdir())
    assert check_path(str(run.folder / "global_step_2"), "tokenizer_name_or_path", "folder").findings == []


def test_engine_and_training_agree_on_the_probabilities_in_every_step(uninterrupted: Run) -> None:
    differences = [line["policy/logprob_difference"] for line in uninterrupted.metrics() if line["phase"] == "training"]
    assert len(differences) == 6
    assert max(differences) < 1e-5


def test_the_policy_changes_and_transformers_loads_the_result(uninterrupted: Run) -> None:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    assert uninterrupted.weights(4) != uninterrupted.weights(6)
    last = uninterrupted.folder / "global_step_6"
    model = AutoModelForCausalLM.from_pretrained(last, local_files_only=True)
    tokenizer = AutoTokenizer.from_pretrained(last, local_files_only=True)
    assert model.config.vocab_size == len(tokenizer)
    assert tokenizer.chat_template == tiny_project.TEMPLATE


def test_what_a_run_leaves_for_people(uninterrupted: Run) -> None:
    names = {path.name for path in uninterrupted.folder.iterdir()}
    assert names == {
        ".lock",
        "config.resolved.yaml",
        "global_step_4",
        "global_step_6",
        "latest_checkpointed_iteration.txt",
        "learning_curve.png",
        "metrics.jsonl",
        "trajectories.jsonl",
        "versions.json",
    }
    phases = [(line["phase"], line["step"]) for line in uninterrupted.metrics()]
    warm_up = [("warm-up", step) for step in range(1, 5)]
    training = [("training", step) for step in range(1, 7)]
    evaluations = [("evaluation", step) for step in (0, 3, 6)]
    assert sorted(phases) == sorted([*warm_up, *training, *evaluations])
    lines = [json.loads(line) for line in uninterrupted.trajectories().splitlines()]
    assert [(line["step"], line["idx"], line["sample"]) for line in lines] == [
        (step, idx, sample) for step in range(1, 7) for idx in range(4) for sample in range(4)
    ]


def test_the_resolved_configuration_trains_the_same(
    uninterrupted: Run, tmp_path: Path, train: Callable[..., int]
) -> None:
    again = Run(tmp_path, uninterrupted.folder / "config.resolved.yaml")
    assert train(again) == 0, again.output
    assert again.weights() == uninterrupted.weights()


@pytest.mark.parametrize("keys", [{"test_only": True}, {"section": {"val_only": True}}], ids=["test_only", "val_only"])
def test_evaluation_only_takes_the_newest_checkpoint_and_leaves_the_run_alone(
    keys: dict[str, Any], tmp_path: Path, train: Callable[..., int]
) -> None:
    folder = tmp_path / "files"
    short = {"total_training_steps": 2}
    run = Run(tmp_path, tiny_project.make_project(folder, short))
    assert train(run) == 0, run.output
    trained = run.metrics()
    section = {**short, **keys.pop("section", {})}
    tiny_project.write_config(folder, section, **keys)
    assert train(run) == 0, run.output
    assert f"evaluating {run.folder / 'global_step_2'}" in run.output
    assert run.metrics() == trained
    measured = json.loads((run.folder / "evaluation.json").read_text())
    assert measured["step"] == 2
    assert {name: measured[name] for name in trained[-1] if name.startswith("eval/")} == {
        name: value for name, value in trained[-1].items() if name.startswith("eval/")
    }


def test_without_val_before_train_the_untrained_policy_is_not_evaluated(
    tmp_path: Path, train: Callable[..., int]
) -> None:
    section = {"val_before_train": False, "total_training_steps": 1, "test_freq": -1}
    run = Run(tmp_path, tiny_project.make_project(tmp_path / "files", section))
    assert train(run) == 0, run.output
    assert [line["phase"] for line in run.metrics()] == ["training"]


def test_a_checkpoint_of_another_model_is_an_error(tmp_path: Path, train: Callable[..., int]) -> None:
    folder = tmp_path / "files"
    run = Run(tmp_path, tiny_project.make_project(folder, {"total_training_steps": 2}))
    assert train(run) == 0, run.output
    tiny_project.write_model(folder / "model", hidden_size=48)
    tiny_project.write_config(folder, {"total_training_steps": 3})
    assert train(run) == 1
    assert "error ARL261" in run.output
    assert "another experiment_name, which starts afresh" in run.output


def test_more_steps_go_on_from_a_finished_run_and_say_what_changed(tmp_path: Path, train: Callable[..., int]) -> None:
    folder = tmp_path / "files"
    run = Run(tmp_path, tiny_project.make_project(folder, {"total_training_steps": 2}))
    assert train(run) == 0, run.output
    tiny_project.write_config(folder, {"total_training_steps": 3})
    assert train(run) == 0, run.output
    assert "changed since that checkpoint was written: local.total_training_steps: 2 -> 3" in run.output
    assert [line["step"] for line in run.metrics() if line["phase"] == "training"] == [1, 2, 3]


def test_another_experiment_name_starts_afresh(tmp_path: Path, train: Callable[..., int]) -> None:
    folder = tmp_path / "files"
    run = Run(tmp_path, tiny_project.make_project(folder, {"total_training_steps": 1}))
    assert train(run) == 0, run.output
    tiny_project.write_config(folder, {"total_training_steps": 1, "experiment_name": "second"})
    assert train(run) == 0
    assert "going on" not in run.output
    assert (run.folder.with_name("second") / "global_step_1").is_dir()


def test_checkpoints_that_lack_the_optimizer_are_announced_and_refused(
    tmp_path: Path, train: Callable[..., int]
) -> None:
    folder = tmp_path / "files"
    run = Run(tmp_path, tiny_project.make_project(folder, {"total_training_steps": 1, "ckpt_content": ["hf_model"]}))
    assert train(run) == 0, run.output
    assert not (run.folder / "global_step_1" / "optimizer.pt").exists()
    assert (run.folder / "global_step_1" / "model.safetensors").exists()
    tiny_project.write_config(folder, {"total_training_steps": 2})
    assert train(run) == 1
    assert "error ARL262" in run.output
    assert "optimizer" in run.output


def test_two_processes_cannot_train_in_one_folder(run: Run, train: Callable[..., int]) -> None:
    import fcntl

    run.folder.mkdir(parents=True)
    with (run.folder / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        lock.write("4711\n")
        lock.flush()
        assert train(run) == 1
    assert f"error process 4711 is training in {run.folder}" in run.output
    assert "change project_name or experiment_name" in run.output


def test_the_library_trains_evaluates_and_ends_in_a_thread_beside_an_event_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tiny_project.make_project(tmp_path / "files", {"total_training_steps": 1, "test_freq": 1})
    monkeypatch.chdir(tmp_path)
    trainer = trainer_for(load(config, environ={}))

    async def notebook() -> TrainResult:
        return await asyncio.to_thread(trainer.fit)

    result = asyncio.run(notebook())
    assert (result.steps, result.exit_reason, result.exit_status) == (1, "finished", 0)
    assert result.checkpoint == tmp_path / "checkpoints" / "tiny" / "first" / "global_step_1"
    measured = trainer.evaluate()
    assert measured["eval/reward"] == result.metrics["eval/reward"]
