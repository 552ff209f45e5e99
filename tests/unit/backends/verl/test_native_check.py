"""From a file to findings at its keys: our rules, verl's own refusals, and what both say at once."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agentic_rl.backends.verl import native_check
from agentic_rl.backends.verl.flat_run import FlatRun
from agentic_rl.backends.verl.native_check import findings, native_findings
from agentic_rl.backends.verl.refusals import NoVerdictError, Refusal
from agentic_rl.backends.verl.rendering import render
from agentic_rl.config.diagnostics import Finding
from agentic_rl.config.load import Loaded, load
from agentic_rl.config.verl_native.installation import installed
from artifact_doubles import write_model
from verl_doubles import BASE, HAS_VERL
from verl_native import ACTOR, ROLLOUT, native

pytestmark = [pytest.mark.verl, pytest.mark.skipif(not HAS_VERL, reason="verl is not installed")]


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Any]:
    (tmp_path / "tasks.parquet").touch()
    data = str(tmp_path / "tasks.parquet")
    return {
        "tokenizer_name_or_path": str(write_model(tmp_path / "model")),
        "verl.train_files": data,
        "verl.val_files": data,
        "infer_tensor_parallel_size": 1,
        "device": "cpu",
    }


def loaded(changes: dict[str, Any]) -> Loaded:
    tree: dict[str, Any] = {}
    for key, value in {**BASE, **changes}.items():
        level, _, name = key.rpartition(".")
        (tree.setdefault(level, {}) if level else tree)[name] = value
    return load(tree, files=False, environ={})


def found(changes: dict[str, Any], edits: dict[str, Any] | None = None) -> list[Finding]:
    """The findings of a flat configuration, `edits` applied to what it becomes."""
    one = loaded(changes)
    assert one.config is not None, one.report.to_text()
    rendered = render(one.config, installation=installed())
    for key, value in (edits or {}).items():
        node = rendered
        *parents, name = key.split(".")
        for parent in parents:
            node = node[parent]
        node[name] = value
    return findings(FlatRun(one, installed()), rendered, installed())


def test_a_sound_file_draws_nothing(files: dict[str, Any]) -> None:
    assert found({**files, "rollout_n": 4}) == []


def test_findings_have_our_keys(files: dict[str, Any]) -> None:
    one, *others = found({**files, "rollout_n": 4, "use_kl_in_reward": True, "kl_penalty": "full"})
    assert others == []
    assert (one.code, one.key) == ("ARL523", "kl_penalty")
    assert one.hint == "kl_penalty: one of abs, k1, k2, k3, kl, low_var_kl, mse"


def test_verl_speaks_where_no_rule_does(files: dict[str, Any]) -> None:
    (one,) = found({**files, "rollout_n": 4}, {f"{ACTOR}.loss_agg_mode": "foo"})
    assert (one.code, one.key) == ("ARL515", "verl.loss_agg_mode")
    assert one.message == "verl refuses it: ValueError: Invalid loss_agg_mode: foo"
    assert one.hint.startswith("see verl/workers/config/actor.py:")


def test_one_matter_is_one_finding_with_the_words_of_verl(files: dict[str, Any]) -> None:
    (one,) = found({**files, "rollout_n": 4}, {f"{ROLLOUT}.pipeline_model_parallel_size": 2})
    assert one.code == "ARL527"
    assert "; verl says: NotImplementedError: Current rollout self.name='vllm'" in one.message


def test_an_unknown_key_is_one_finding(files: dict[str, Any]) -> None:
    (one,) = found({**files, "rollout_n": 4}, {f"{ACTOR}.loss_agg_mod": "token-mean"})
    assert (one.severity, one.code, one.key) == ("error", "ARL517", "train_backend")
    assert one.hint == f"did you mean {ACTOR}.loss_agg_mode?"
    assert "FSDPActorConfig refuses it" in one.message


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> list[Refusal]:
    """What verl answers, in place of the process that takes five seconds; other tests run that one."""
    given: list[Refusal] = []
    monkeypatch.setattr(native_check, "refusals", lambda _: given)
    return given


@pytest.mark.usefixtures("answers")
def test_what_was_said_of_the_file_is_not_said_again(files: dict[str, Any]) -> None:
    group_of_one = {**files, "rollout_n": 1}
    assert "ARL213" in {one.code for one in loaded(group_of_one).report}
    assert found(group_of_one) == []


def test_each_key_is_said_once(files: dict[str, Any], answers: list[Refusal]) -> None:
    refusal = Refusal(f"{ACTOR}.optim.lr", "ValueError: no", "verl/a.py:1")
    answers += [refusal, replace(refusal, words="ValueError: no, says the worker")]
    (one,) = found({**files, "rollout_n": 4})
    assert (one.key, one.message) == ("lr", "verl refuses it: ValueError: no")


def test_a_value_of_another_kind_explains_what_verl_stumbles_over(
    files: dict[str, Any], answers: list[Refusal]
) -> None:
    answers.append(Refusal("", "TypeError: not all arguments converted", "verl/a.py:1"))
    codes = [one.code for one in found({**files, "rollout_n": 4}, {f"{ROLLOUT}.n": "abc"})]
    assert codes == ["ARL545"]


@pytest.mark.parametrize(("too_late", "severity"), [(True, "warning"), (False, "error")])
def test_without_a_verdict(
    too_late: bool, severity: str, files: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refusals(_: Any) -> list[Refusal]:
        raise NoVerdictError("verl's checks failed", too_late=too_late)

    monkeypatch.setattr(native_check, "refusals", refusals)
    (one,) = found({**files, "rollout_n": 4})
    assert (one.severity, one.code, one.key, one.message) == (
        severity,
        "ARL516",
        "train_backend",
        "verl's checks failed",
    )


@pytest.mark.usefixtures("answers")
def test_another_engine_has_another_template(tmp_path: Path) -> None:
    (tmp_path / "tasks.parquet").touch()
    config = native({f"{ACTOR}.megatron.foo": 1}, str(tmp_path / "tasks.parquet"), "ppo_megatron_trainer")
    assert [(one.code, one.key) for one in native_findings(config, installed())] == [
        ("ARL517", f"{ACTOR}.megatron.foo")
    ]
