from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agentic_rl.backends import registry, trainer_for
from agentic_rl.backends.errors import BackendUnavailableError, InstanceError
from agentic_rl.backends.local.trainer import LocalTrainer
from agentic_rl.backends.verl.trainer import VerlTrainer
from agentic_rl.config.diagnostics import ConfigError
from agentic_rl.config.load import load
from aura_trees import SOUND


@pytest.fixture
def verl(loaded: Any, tmp_path: Path) -> Any:
    loaded()
    files = tmp_path / "files"
    return load(
        {
            "tokenizer_name_or_path": str(files / "model"),
            "agent_name": "math",
            "train_backend": "verl",
            "num_gpus_per_node": 1,
            "infer_tensor_parallel_size": 1,
            "verl": {
                "train_files": str(files / "train.parquet"),
                "val_files": str(files / "test.parquet"),
                "train_batch_size": 4,
            },
        },
        environ={},
    )


def test_local_is_found_by_its_entry_point(loaded: Any) -> None:
    assert type(trainer_for(loaded())) is LocalTrainer


def test_a_backend_that_is_not_installed_says_so_in_its_check_its_plan_and_its_failure(
    verl: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, "available", lambda: {"local": None})
    trainer = trainer_for(verl)
    (found,) = trainer.check()
    assert (found.code, found.severity, found.key) == ("ARL501", "error", "train_backend")
    assert "verl can be checked but not trained with in this version; installed backends: local" in found.message
    assert trainer.plan().steps[0].startswith("nothing: verl can be checked but not trained with")
    with pytest.raises(BackendUnavailableError, match="train_backend: verl can be checked"):
        trainer.fit()
    with pytest.raises(BackendUnavailableError):
        trainer.evaluate()


def test_a_broken_configuration_has_no_trainer(loaded: Any) -> None:
    with pytest.raises(ConfigError):
        trainer_for(loaded(lr=-1.0))


def test_a_copy_that_was_never_installed_asks_to_be(loaded: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "entry_points", lambda **_: [])
    (finding,) = trainer_for(loaded()).check().findings
    assert finding.code == "ARL501"
    assert finding.hint.startswith("python -m pip install")


def test_the_train_instance_decides_in_the_instances_format(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text(SOUND)
    loaded = load(file, files=False, environ={})
    assert type(trainer_for(loaded)) is VerlTrainer
    with pytest.raises(InstanceError, match="none is called 'OTHER'"):
        trainer_for(loaded, "OTHER")


def test_an_engine_of_the_instances_format_that_cannot_train_yet(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    other = SOUND.replace("train_engine: verl", "train_engine: mindspeed_rl").replace("${verl_conf}", "${msrl_conf}")
    file.write_text(f"{other}msrl_conf: {{megatron_training: {{}}}}\n")
    trainer = trainer_for(load(file, files=False, environ={}))
    (found,) = trainer.check()
    assert (found.code, found.key) == ("ARL501", "train_instances[0].executor_kwargs.train_engine")
    assert found.message.startswith("mindspeed_rl can be checked but not trained with in this version")
    with pytest.raises(BackendUnavailableError, match="train_engine: mindspeed_rl can be checked"):
        trainer.fit()
    assert trainer.plan().backend == "mindspeed_rl"
