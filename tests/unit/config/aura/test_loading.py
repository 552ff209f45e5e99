"""Loading a file of the instances format: everything together."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from agentic_rl.config.aura.schema import AuraConfig
from agentic_rl.config.diagnostics import ConfigError
from agentic_rl.config.load import Loaded, load
from aura_trees import SOUND


def loaded(
    folder: Path, text: str = SOUND, *overrides: str, files: bool = False, environ: Mapping[str, str] | None = None
) -> Loaded:
    path = folder / "run.yaml"
    path.write_text(text)
    return load(path, overrides, files=files, environ=environ or {})


def told(result: Loaded, *severities: str) -> list[tuple[str, str, int | None, int | None]]:
    return [(one.code, one.key, one.line, one.column) for one in result.report if one.severity in severities]


def line_of(text: str, wanted: str) -> int:
    return next(number for number, line in enumerate(text.splitlines(), 1) if wanted in line)


def test_a_sound_file(tmp_path: Path) -> None:
    result = loaded(tmp_path)
    assert told(result, "error") == []
    assert result.format == "aura"
    config = result.require_aura()
    assert isinstance(config, AuraConfig)
    assert config.verl_conf is not None
    assert config.verl_conf.data.train_batch_size == 16
    assert result.values["verl_conf.actor_rollout_ref.rollout.n"] == 8
    assert result.sources["verl_conf.actor_rollout_ref.rollout.n"] == "file"
    assert "verl_conf.trainer.save_freq" not in result.sources
    assert result.require_composed().tree["train_instances"][0]["executor_kwargs"]["train_config"]["data"]


def test_the_flat_format_is_asked_for_in_vain(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="ARL043 agentic_ai: the instances format shows here"):
        loaded(tmp_path).require_flat()


def test_the_effective_configuration_is_nested_with_defaults(tmp_path: Path) -> None:
    config = loaded(tmp_path).to_dict()["config"]
    assert config["verl_conf"]["trainer"]["save_freq"] == -1
    assert config["train_instances"][0]["executor_kwargs"]["train_engine"] == "verl"
    assert config["infer_instances"][0]["executor_kwargs"]["engine_kwargs"]["model_name"] == "qwen2.5-7b"


def test_overrides_win_over_the_environment_over_the_file(tmp_path: Path) -> None:
    key = "verl_conf.trainer.n_gpus_per_node"
    environ = {"AGENTIC_RL__VERL_CONF__TRAINER__N_GPUS_PER_NODE": "2", "AGENTIC_RL__VERL_CONF__TRAINER__NNODES": "3"}
    result = loaded(tmp_path, SOUND, f"{key}=4", environ=environ)
    assert (result.values[key], result.sources[key]) == (4, "command line")
    assert result.values["verl_conf.trainer.nnodes"] == 3
    assert result.sources["verl_conf.trainer.nnodes"] == "environment"


def test_overrides_reach_into_items_of_lists(tmp_path: Path) -> None:
    environ = {"AGENTIC_RL__AGENT_INSTANCES__0__EXECUTOR_NUM": "3", "AGENTIC_RL__TRAIN_INSTANCES__0__EXECUTOR_NUM": "2"}
    result = loaded(
        tmp_path, SOUND, "train_instances[0].executor_num=4", "infer_instances.0.executor_num=5", environ=environ
    )
    assert told(result, "error") == []
    keys = [f"{kind}_instances[0].executor_num" for kind in ("train", "agent", "infer")]
    assert [result.values[key] for key in keys] == [4, 3, 5]
    assert [result.sources[key] for key in keys] == ["command line", "environment", "command line"]
    assert result.sources["train_instances[0].name"] == "file"


@pytest.mark.parametrize(
    ("override", "key", "message"),
    [
        ("train_instances.1.name=A", "train_instances[1].name", "train_instances has 1 items, and none is 1"),
        ("verl_conf.0.name=A", "verl_conf[0].name", "the file has no list verl_conf"),
        ("train_instances.0.executor_kwargs=A", "train_instances[0].executor_kwargs", "is a section"),
        ("train_instances.0.name.x=A", "train_instances[0].name.x", "has no x"),
        ("train_instances.0.name=010", "train_instances[0].name", "010"),
    ],
)
def test_overrides_of_items_that_set_nothing(tmp_path: Path, override: str, key: str, message: str) -> None:
    result = loaded(tmp_path, SOUND, override)
    (finding,) = [one for one in result.report if one.severity == "error"]
    assert (finding.key, finding.file) == (key, "command line")
    assert message in finding.message


def test_what_an_override_broke_is_told_with_its_source(tmp_path: Path) -> None:
    result = loaded(tmp_path, environ={"AGENTIC_RL__VERL_CONF__TRAINER__NNODES": "none"})
    (finding,) = [one for one in result.report if one.severity == "error"]
    assert (finding.file, finding.key, finding.line) == ("environment", "verl_conf.trainer.nnodes", None)
    assert finding.message.endswith("(set by AGENTIC_RL__VERL_CONF__TRAINER__NNODES)")


def test_a_broken_reference_is_told_once_at_the_key_that_holds_it(tmp_path: Path) -> None:
    text = SOUND.replace("train_config: ${verl_conf}", "train_config: ${verl_con}")
    key = "train_instances[0].executor_kwargs.train_config"
    assert told(loaded(tmp_path, text), "error") == [("ARL033", key, line_of(text, "verl_con}"), 7)]


def test_released_names_are_notes(tmp_path: Path) -> None:
    text = SOUND.replace("cluster_mode: hybrid", "work_mode: hybrid").replace("job_type: train", "job_type: verl_train")
    result = loaded(tmp_path, text)
    keys = ["direct_conf.entrypoints[0].job_type", "train_instances[0].executor_kwargs.work_mode"]
    assert [key for code, key, *_ in told(result, "note") if code == "ARL023"] == keys
    assert result.require_aura().train_instances[0].executor_kwargs.cluster_mode == "hybrid"
    assert result.sources["train_instances[0].executor_kwargs.cluster_mode"] == "file"


def test_a_broken_text_is_told_as_it_is_of_any_format(tmp_path: Path) -> None:
    result = loaded(tmp_path, "agentic_ai:\n  mode: direct\n  mode: serve\n  log_dir: /tmp\n\n")
    assert ("ARL005", "agentic_ai.mode", 3, 3) in told(result, "error")


def test_a_mapping_is_read_too() -> None:
    tree: dict[str, Any] = yaml.safe_load(SOUND)
    result = load(tree, files=False, environ={})
    assert result.require_aura().agentic_ai.mode == "direct"


def test_files_are_looked_at(tmp_path: Path) -> None:
    keys = {key for code, key, *_ in told(loaded(tmp_path, files=True), "error") if code == "ARL300"}
    assert "verl_conf.data.train_files" in keys
    assert not any(code == "ARL300" for code, *_ in told(loaded(tmp_path), "error"))


# verl's own keys


def test_a_key_that_verl_lacks_is_a_warning_with_the_nearest(tmp_path: Path) -> None:
    text = SOUND.replace("      max_num_batched_tokens: 8192\n", "      max_num_batched_token: 8192\n")
    result = loaded(tmp_path, text)
    (finding,) = [one for one in result.report if one.code == "ARL040"]
    assert finding.severity == "warning"
    assert finding.key == "verl_conf.actor_rollout_ref.rollout.max_num_batched_token"
    assert (finding.line, finding.column) == (line_of(text, "batched_token:"), 7)
    assert finding.message.startswith("verl 0.9.1")
    assert finding.hint == "did you mean verl_conf.actor_rollout_ref.rollout.max_num_batched_tokens?"


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("balance_batch", "often", "'often', where verl 0.9.1"),
        ("esi_redundant_time", "soon", "has a number"),
        ("esi_redundant_time", "{x: 1}", "has a number"),
    ],
)
def test_a_value_of_another_kind_than_verls(tmp_path: Path, name: str, value: str, message: str) -> None:
    text = SOUND.replace("    n_gpus_per_node: 8\n", f"    n_gpus_per_node: 8\n    {name}: {value}\n")
    findings = [one for one in loaded(tmp_path, text).report if one.key == f"verl_conf.trainer.{name}"]
    assert [(one.code, one.severity) for one in findings] == [("ARL041", "error")]
    assert message in findings[0].message


def test_a_section_that_an_override_alone_has_is_told_there(tmp_path: Path) -> None:
    found = [one for one in loaded(tmp_path, SOUND, "verl_conf.foo.bar=1").report if one.code == "ARL040"]
    assert [(one.key, one.file) for one in found] == [("verl_conf.foo", "command line")]


def test_keys_of_verl_are_right_also_where_no_yaml_has_them(tmp_path: Path) -> None:
    written = (
        "    n_gpus_per_node: 8\n    balance_batch: true\n    max_actor_ckpt_to_keep: 3\n    v1: {trainer_mode: sync}\n"
    )
    text = SOUND.replace("    n_gpus_per_node: 8\n", written)
    assert [one for one in loaded(tmp_path, text).report if one.code in ("ARL040", "ARL041")] == []


def test_a_configuration_in_a_train_instance_is_compared_too(tmp_path: Path) -> None:
    text = SOUND.replace("train_config: ${verl_conf}", "train_config: {trainer: {nodes: 1}}")
    keys = [one.key for one in loaded(tmp_path, text).report if one.code == "ARL040"]
    assert keys == ["train_instances[0].executor_kwargs.train_config.trainer.nodes"]


def test_a_configuration_in_a_train_instance_is_validated_under_its_own_key(tmp_path: Path) -> None:
    own = "{trainer: {nnodes: two}, data: {train_batch_size: 0}, actor_rollout_ref: {rollout: {n: 4}}}"
    text = SOUND.replace("train_config: ${verl_conf}", f"train_config: {own}")
    node, line = "train_instances[0].executor_kwargs.train_config", line_of(text, "nnodes: two")
    found = {one.key.removeprefix(f"{node}."): one for one in loaded(tmp_path, text).report if one.severity == "error"}
    assert found["trainer.nnodes"].code == "ARL030"
    assert found["data.train_batch_size"].code == "ARL101"
    lacking = found["data.train_files"]
    assert (lacking.code, lacking.line) == ("ARL027", line)


def test_a_configuration_under_the_released_name_is_one_of_its_own(tmp_path: Path) -> None:
    own = "{actor_rollout_ref: {rollout: {n: many}}}"
    text = SOUND.replace("train_config: ${verl_conf}", f"rl_framework_kwargs: {own}")
    found = [one for one in loaded(tmp_path, text).report if one.severity == "error"]
    node = "train_instances[0].executor_kwargs.train_config"
    assert {(one.code, one.key) for one in found} == {
        ("ARL030", f"{node}.actor_rollout_ref.rollout.n"),
        ("ARL027", f"{node}.actor_rollout_ref.model.path"),
        ("ARL027", f"{node}.data.train_files"),
        ("ARL027", f"{node}.data.val_files"),
    }
    assert {one.line for one in found} == {line_of(text, "rl_framework_kwargs:")}


def test_documented_defaults_hold_in_a_train_instance_too(tmp_path: Path) -> None:
    own = "{actor_rollout_ref: {rollout: {n: 4}}}"
    values = loaded(tmp_path, SOUND.replace("train_config: ${verl_conf}", f"train_config: {own}")).values
    rollout = "train_instances[0].executor_kwargs.train_config.actor_rollout_ref.rollout"
    assert (values[f"{rollout}.n"], values[f"{rollout}.tensor_model_parallel_size"]) == (4, 4)


# Where values come from


def test_the_source_of_each_documented_key(tmp_path: Path) -> None:
    result = loaded(tmp_path, SOUND.replace("cluster_mode", "work_mode"), "verl_conf.trainer.nnodes=2")
    sources = {one.key: one.source for one in result.provenance()}
    assert sources["verl_conf.trainer.nnodes"] == "command line"
    assert sources["verl_conf.data.train_batch_size"] == "file"
    assert sources["verl_conf.trainer.save_freq"] == "documented default"
    assert sources["train_instances[0].name"] == "file"
    assert sources["train_instances[0].executor_kwargs.cluster_mode"] == "file"
    assert not any(key.startswith("train_instances[0].executor_kwargs.train_config.") for key in sources)
    shown = {one.to_text() for one in result.provenance()}
    assert "verl_conf.trainer.save_freq: -1  (documented default)" in shown
