"""Everything that verl checks is said by somebody before Ray starts, and verl's own words find a key."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from agentic_rl.backends.verl import refusals as module
from agentic_rl.backends.verl.refusals import NoVerdictError, Refusal, refusals
from agentic_rl.backends.verl.translation import key_of, translate
from artifact_doubles import write_model
from verl_doubles import HAS_VERL
from verl_native import MODEL, broken, native

needs_verl = pytest.mark.skipif(not HAS_VERL, reason="verl is not installed")
TABLE = Path(__file__).parents[3] / "data" / "verl" / "checks.yaml"
CHECKS: list[dict[str, Any]] = yaml.safe_load(TABLE.read_text(encoding="utf-8"))
OF_VERL = [check for check in CHECKS if check["by"] == "verl"]
OF_RULES = [check for check in CHECKS if check["by"].startswith("ARL") and check["by"] != "ARL517"]
CRITIC = {
    "algorithm.adv_estimator": "gae",
    "critic.model.path": "MODEL",
    "critic.ppo_mini_batch_size": 16,
    "critic.ppo_micro_batch_size_per_gpu": 4,
}
MANY_AT_ONCE = {
    "data.train_batch_size": 9,
    "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu": None,
    "actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu": None,
    "actor_rollout_ref.rollout.val_kwargs.do_sample": True,
    "actor_rollout_ref.rollout.temperature": 0,
    "actor_rollout_ref.rollout.mode": "sync",
}
VALIDATE_ALL = """
import json, os, sys
verdicts = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)
from omegaconf import OmegaConf
from agentic_rl.backends.verl.inside.validate import all_refusals
with verdicts:
    json.dump({name: all_refusals(OmegaConf.create(one)) for name, one in json.load(sys.stdin).items()}, verdicts)
"""
"""verl is imported once for all configurations, not once for each."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("refusals")
    write_model(folder / "MODEL")
    write_model(folder / "TWO", architectures=["A", "B"])
    (folder / "tasks.parquet").touch()
    return folder


def configured(check: dict[str, Any], folder: Path) -> dict[str, Any]:
    changes = {MODEL + ".path": "MODEL", **(CRITIC if check.get("critic") else {}), **check["changes"]}
    changes = {key: str(folder / value) if value in ("MODEL", "TWO") else value for key, value in changes.items()}
    return native(changes, str(folder / "tasks.parquet"), check.get("template", "ppo_trainer"))


@pytest.fixture(scope="module")
def verdicts(folder: Path) -> dict[str, list[Refusal]]:
    checks = [*OF_VERL, {"check": "sound", "changes": {}}, {"check": "many", "changes": MANY_AT_ONCE}]
    checks.append({"check": "critic", "changes": {}, "critic": True})
    configs = {check["check"]: configured(check, folder) for check in checks}
    environment = module._environment(configs["sound"])
    process = subprocess.run(
        [sys.executable, "-c", VALIDATE_ALL],
        input=json.dumps(configs),
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    assert process.returncode == 0, process.stderr
    answers = json.loads(process.stdout)
    return {name: [module._refusal(entry, configs[name]) for entry in entries] for name, entries in answers.items()}


@needs_verl
@pytest.mark.verl
@pytest.mark.parametrize("check", OF_VERL, ids=lambda check: check["check"])
def test_verl_refuses(check: dict[str, Any], verdicts: dict[str, list[Refusal]]) -> None:
    first = verdicts[check["check"]][0]
    assert first.key == check["key"]
    assert check["words"] in first.words
    assert {refusal.key for refusal in verdicts[check["check"]]} == {check["key"]}


@needs_verl
@pytest.mark.verl
@pytest.mark.parametrize("check", OF_RULES, ids=lambda check: check["check"])
def test_a_rule_says_it(check: dict[str, Any], folder: Path) -> None:
    there = {"vllm": check["vllm"]} if "vllm" in check else {}
    drawn = broken(check["changes"], str(folder / "tasks.parquet"), **there)
    assert check["by"] in {head.split()[1] for head, *_ in drawn}


@needs_verl
@pytest.mark.verl
@pytest.mark.parametrize("name", ["sound", "critic"])
def test_verl_takes_what_is_sound(name: str, verdicts: dict[str, list[Refusal]]) -> None:
    assert verdicts[name] == []


@needs_verl
@pytest.mark.verl
def test_all_refusals_come_in_one_run(verdicts: dict[str, list[Refusal]]) -> None:
    assert [refusal.key for refusal in verdicts["many"]] == [
        "data.train_batch_size",
        "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu",
        "actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu",
        "actor_rollout_ref.rollout.temperature",
        "actor_rollout_ref.rollout.mode",
    ]


@needs_verl
@pytest.mark.verl
def test_in_a_process_of_its_own_with_the_modules_of_the_user(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "their_own.py").write_text(f"open({str(tmp_path / 'imported')!r}, 'w').close()\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("VERL_USE_EXTERNAL_MODULES", "their_own")
    check = {"changes": {"actor_rollout_ref.actor.loss_agg_mode": "foo", "trainer.device": "cpu"}}
    (refusal,) = refusals(configured(check, folder))
    assert refusal.words == "ValueError: Invalid loss_agg_mode: foo"
    assert refusal.source.startswith("verl/workers/config/actor.py:")
    assert (tmp_path / "imported").exists()


def test_every_check_has_somebody_or_a_reason() -> None:
    assert len({check["check"] for check in CHECKS}) == len(CHECKS) > 70
    assert all(check.get("reason") for check in CHECKS if check["by"] == "nobody")


def test_a_process_that_fails_says_its_last_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MODULE", "agentic_rl.no_such_module")
    with pytest.raises(NoVerdictError, match=r"ended with status 1: .*no_such_module") as caught:
        refusals({})
    assert not caught.value.too_late


def test_a_process_that_takes_too_long_is_ended() -> None:
    with pytest.raises(NoVerdictError, match="took longer than 0 s") as caught:
        refusals({}, seconds=0.001)
    assert caught.value.too_late


NATIVE = {
    "data": {"train_batch_size": 8, "train_files": "/data/a.parquet"},
    "actor_rollout_ref": {
        "actor": {"ppo_mini_batch_size": 8, "optim": {"lr_scheduler_type": "x"}, "path": "/m"},
        "rollout": {"name": "vllm", "pipeline_model_parallel_size": 2, "trace": {"mode": "x"}},
    },
    "critic": {"ppo_mini_batch_size": 8, "model": {"path": "/data/critic"}},
}


@pytest.mark.parametrize(
    ("step", "words", "key"),
    [
        ("driver", "train_batch_size (8) must be >= critic.ppo_mini_batch_size (9)", "data.train_batch_size"),
        ("driver", "critic.ppo_mini_batch_size (9) is too large", "critic.ppo_mini_batch_size"),
        ("driver", "real_train_batch_size (9) must be divisible", "data.train_batch_size"),
        ("driver", "can't load '/data/critic'", "critic.model.path"),
        ("driver", "something else", ""),
        ("critic", "something else", "critic"),
        (
            "actor_rollout_ref.actor",
            "assert self.lr_scheduler_type in []",
            "actor_rollout_ref.actor.optim.lr_scheduler_type",
        ),
        (
            "actor_rollout_ref.rollout",
            "Current rollout self.name='vllm' not implemented pipeline_model_parallel_size > 1",
            "actor_rollout_ref.rollout.pipeline_model_parallel_size",
        ),
        (
            "critic",
            "C.__init__() got an unexpected keyword argument 'ppo_mini_batch_size'",
            "critic.ppo_mini_batch_size",
        ),
    ],
)
def test_words_of_verl_find_the_key(step: str, words: str, key: str) -> None:
    assert key_of(step, words, NATIVE) == key


@pytest.mark.parametrize(
    ("native_key", "ours"),
    [
        ("actor_rollout_ref.actor.optim.lr", "lr"),
        ("data.train_batch_size", "verl.train_batch_size"),
        ("actor_rollout_ref.rollout.tensor_model_parallel_size", "infer_tensor_parallel_size"),
        ("data.train_files[0]", "verl.train_files"),
        ("trainer.v1.trainer_mode", None),
        ("no.such.key", None),
    ],
)
def test_keys_of_verl_become_ours(native_key: str, ours: str | None) -> None:
    assert translate(native_key) == ours
