from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from agentic_rl.backends.errors import TrainingError
from agentic_rl.backends.local import devices
from agentic_rl.backends.local.checkpoint_store import EVERYTHING, CheckpointStore
from agentic_rl.backends.local.progress import Progress
from agentic_rl.backends.local.settings import evaluation_due, resolved
from agentic_rl.backends.local.trainer import LocalTrainer
from agentic_rl.config.diagnostics import ConfigError
from agentic_rl.config.writing import make_folder

SHOWN = [{"messages": [{"role": "user", "content": "?"}, {"role": "assistant", "content": "!"}]}]


def test_a_good_configuration_has_nothing_to_find(loaded: Any) -> None:
    assert list(LocalTrainer(loaded()).check()) == []


def test_findings_have_their_place_in_the_file(loaded: Any) -> None:
    (found,) = LocalTrainer(loaded({"ckpt_content": ["model"]})).check()
    assert found.file.endswith("config.yaml")
    assert found.line is not None


def test_training_refuses_a_configuration_whose_data_are_not_sound(loaded: Any, rows: list[dict[str, Any]]) -> None:
    for broken, key in ((loaded(train=[{"question": "?"}]), "train_files"), (loaded(sft=rows), "sft_files")):
        with pytest.raises(ConfigError) as caught:
            LocalTrainer(broken)
        codes = {(found.code, found.key) for found in caught.value.report}
        assert ("ARL421", f"local.{key}") in codes
    assert list(LocalTrainer(loaded(sft=SHOWN)).check()) == []


def test_planning_and_training_refuse_what_check_found(loaded: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "PACKAGES", ("no_such_package",))
    trainer = LocalTrainer(loaded())
    for refused in (trainer.plan, trainer.fit, trainer.evaluate):
        with pytest.raises(ConfigError) as caught:
            refused()
        assert [found.code for found in caught.value.report] == ["ARL502"]


def test_checkpoints_that_cannot_be_gone_on_from_are_announced(loaded: Any) -> None:
    (found,) = LocalTrainer(loaded({"ckpt_content": ["model"]})).check()
    assert (found.code, found.severity, found.key) == ("ARL504", "warning", "local.ckpt_content")


def test_a_missing_package_is_a_finding(loaded: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "PACKAGES", ("torch", "no_such_package"))
    (found,) = LocalTrainer(loaded()).check()
    assert (found.code, found.severity) == ("ARL502", "error")
    assert "no_such_package" in found.message


def test_a_missing_device_is_a_finding(loaded: Any) -> None:
    (found,) = LocalTrainer(loaded(device="npu")).check()
    assert (found.code, found.severity, found.key) == ("ARL503", "error", "device")
    assert found.hint == "device: auto"


def test_the_plan_says_what_happens_and_where(loaded: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    section = {"test_freq": 2, "save_freq": 3, "total_epochs": 3, "project_name": "p", "experiment_name": "e"}
    plan = LocalTrainer(loaded(section, sft=SHOWN, rollout_n=4, use_tensorboard=True)).plan()
    folder = tmp_path / "checkpoints" / "p" / "e"
    assert plan.backend == "local"
    assert [step.partition(" ")[0] for step in plan.steps] == [
        *("begin:", "warm", "evaluate", "train", "evaluate", "write")
    ]
    assert "train 6 steps; each rolls out 2 prompts 4 times (8 samples)" in plan.steps[3]
    assert str(folder / "metrics.jsonl") in plan.writes
    assert str(folder / "tensorboard") in plan.writes
    assert str(tmp_path / "files" / "train.parquet") in plan.reads
    assert plan.native_configuration["local"]["total_epochs"] == 3
    assert plan.environment["GOMP_SPINCOUNT"] == "0"
    assert not (tmp_path / "checkpoints").exists()


@pytest.mark.parametrize(
    ("step", "evaluated", "first", "others"),
    [
        (2, -1, "go on from {path} at step 2", ["train", "write"]),
        (0, -1, "go on from {path} at step 0", ["evaluate", "train", "write"]),
        (6, 6, "nothing: already finished, {path} has all 6 steps", []),
    ],
)
def test_the_plan_of_a_run_that_has_checkpoints_says_where_it_goes_on(
    loaded: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    step: int,
    evaluated: int,
    first: str,
    others: list[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    store = CheckpointStore(tmp_path / "checkpoints" / "p" / "e")
    make_folder(store.folder)
    store.write(step, list(EVERYTHING), Progress(step=step, evaluated=evaluated).write)
    section = {"total_epochs": 3, "project_name": "p", "experiment_name": "e", "test_freq": -1}
    plan = LocalTrainer(loaded(section, sft=SHOWN)).plan()
    assert plan.steps[0].startswith(first.format(path=store.path(step)))
    assert [one.partition(" ")[0] for one in plan.steps[1:]] == others


def test_the_plan_names_the_torn_checkpoint_that_is_skipped(
    loaded: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    torn = tmp_path / "checkpoints" / "p" / "e" / "global_step_3"
    make_folder(torn)
    steps = LocalTrainer(loaded({"project_name": "p", "experiment_name": "e"})).plan().steps
    assert steps[0].startswith(f"warning: skipping the torn checkpoint {torn}")
    assert steps[1].startswith("begin: there is no whole checkpoint")


def test_the_plan_of_an_evaluation(loaded: Any) -> None:
    steps = LocalTrainer(loaded(test_only=True)).plan().steps
    assert [step.partition(" ")[0] for step in steps] == ["load", "evaluate"]


def test_the_resolved_configuration_is_plain_and_has_one_section(loaded: Any) -> None:
    values = resolved(loaded().require())
    assert values["local"]["val_before_train"] is True
    assert "verl" not in values
    assert "total_training_steps" not in values["local"]


@pytest.mark.parametrize(
    ("section", "keys", "due"),
    [
        ({"test_freq": 3}, {}, [0, 3, 6, 7]),
        ({"test_freq": -1}, {}, [0]),
        ({"test_freq": 3, "val_before_train": False}, {}, [3, 6, 7]),
        ({"test_freq": -1, "val_before_train": False}, {"test_before_train": True}, [0]),
        ({"test_freq": -1, "val_before_train": False}, {}, []),
    ],
)
def test_when_the_held_out_tasks_are_evaluated(
    section: dict[str, Any], keys: dict[str, Any], due: list[int], loaded: Any
) -> None:
    config = loaded(section, **keys).require()
    assert [step for step in range(8) if evaluation_due(config, step, total=7)] == due


def test_a_thread_with_a_running_event_loop_is_told_what_to_do(loaded: Any) -> None:
    trainer = LocalTrainer(loaded())

    async def notebook() -> None:
        trainer.fit()

    with pytest.raises(TrainingError, match="runs an event loop already") as caught:
        asyncio.run(notebook())
    assert caught.value.hint == "await asyncio.to_thread(trainer.fit)"
