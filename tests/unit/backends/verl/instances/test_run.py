"""A file of the instances format as a run of verl: where values come from, what is said, where it begins."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agentic_rl.backends.errors import InstanceError
from agentic_rl.backends.verl.checkpoints import POINTER
from agentic_rl.backends.verl.composition import TEMPLATE, compose
from agentic_rl.backends.verl.native_check import NativeFinding
from aura_trees import REMOVED, SOUND
from instances_runs import CONF, ENGINE, KWARGS, run, said
from verl_doubles import HAS_VERL, at

needs_verl = pytest.mark.skipif(not HAS_VERL, reason="verl is not installed")
pytestmark = pytest.mark.verl
ROLLOUT = "actor_rollout_ref.rollout"
MANAGER = f"{CONF}.{ROLLOUT}.agent.agent_loop_manager_class"


@needs_verl
def test_what_a_template_brought_follows_the_keys_of_the_file() -> None:
    """A template at the top of the file resolves its references there, where nobody has written anything."""
    templates = {f"{CONF}.{ROLLOUT}.log_prob_max_token_len_per_gpu": 16384, f"{CONF}.{ROLLOUT}.max_num_seqs": 77}
    native = run({f"{CONF}.actor_rollout_ref.actor.ppo_max_token_len_per_gpu": 4096}, templates).native()
    assert at(native, f"{ROLLOUT}.log_prob_max_token_len_per_gpu") == 4096
    assert at(native, f"{ROLLOUT}.max_num_seqs") == 77


@needs_verl
def test_the_template_is_that_of_the_strategy() -> None:
    one = run({f"{CONF}.actor_rollout_ref.actor.strategy": "megatron"})
    assert one.native()["model_engine"] == "megatron"
    assert one.overrides()[0] == "model_engine=megatron"
    assert run().native()["model_engine"] == "dp"


@needs_verl
@pytest.mark.parametrize(
    "changes",
    [
        {f"{CONF}.trainer.device": "cpu", f"{CONF}.trainer.n_gpus_per_node": 1},
        {f"{CONF}.actor_rollout_ref.actor.strategy": "megatron"},
        {f"{CONF}.algorithm.adv_estimator": "gae", f"{CONF}.trainer.coffee": {"black": ["it's", 1.5]}},
        {"train_instances[0].executor_kwargs.cluster_mode": "one_step_off"},
    ],
    ids=str,
)
def test_the_command_line_gives_the_same(changes: dict[str, Any]) -> None:
    from omegaconf import OmegaConf

    one = run(changes)
    assert OmegaConf.to_container(compose(TEMPLATE, overrides=one.overrides()), resolve=True) == one.native()


@needs_verl
def test_apart_is_the_trainer_of_verl_that_is_apart() -> None:
    mode = {"train_instances[0].executor_kwargs.cluster_mode": "one_step_off"}
    native = run(mode).native()
    assert at(native, "trainer.v1.trainer_mode") == "separate_async"
    assert at(native, "trainer.v1.separate_async.parameter_sync_step") == 1
    wrong = run(
        {"train_instances[0].executor_kwargs.cluster_mode": "one_step_off", f"{CONF}.data.train_batch_size": 24}
    )
    assert said(wrong, f"{CONF}.data.train_batch_size")[0].startswith("error ARL555 24 prompts are not whole mini")


@needs_verl
def test_keys_of_the_format_do_not_reach_verl() -> None:
    assert "extras" not in run({f"{CONF}.extras.agent_service": "AGENT"}).native()


@needs_verl
def test_a_key_that_verl_lacks_is_handed_on_as_it_was_written() -> None:
    native = run({f"{CONF}.trainer.coffee": "{black: ${no reference}}"}).native()
    assert native["trainer"]["coffee"] == "{black: ${no reference}}"


@needs_verl
@pytest.mark.parametrize(
    ("name", "said_of_it"),
    [
        ("aura.trainer.HybridAgentLoopManager", "note ARL550 aura.trainer.HybridAgentLoopManager is read as this"),
        ("agentic_rl.trainer.Manager", "note ARL550 agentic_rl.trainer.Manager is read as this"),
        ("no_such_package.Manager", "error ARL552 no_such_package.Manager: there is no module no_such_package"),
        ("json.Manager", "error ARL552 json.Manager: json has no Manager"),
        ("Manager", "error ARL552 Manager: 'Manager' is no dotted path of a class"),
        ("json.JSONDecoder", ""),
    ],
)
def test_who_runs_agents(name: str, said_of_it: str) -> None:
    one = run({MANAGER: name})
    found = said(one, MANAGER)
    assert [text.startswith(said_of_it) for text in found] == ([True] if said_of_it else [])
    given = at(one.native(), f"{ROLLOUT}.agent.agent_loop_manager_class")
    assert given == (None if "ARL550" in said_of_it else name)


@needs_verl
def test_without_an_accelerator_fsdp_is_version_2_and_that_is_said() -> None:
    one = run({f"{CONF}.trainer.device": "cpu", f"{CONF}.trainer.n_gpus_per_node": 1})
    assert at(one.native(), "actor_rollout_ref.actor.strategy") == "fsdp2"
    (found,) = said(one, f"{CONF}.actor_rollout_ref.actor.strategy")
    assert found.startswith("note ARL550 'fsdp' is read as 'fsdp2', which device: cpu needs")


@needs_verl
def test_sampling_of_the_agent_wins_over_that_of_verl_and_says_so() -> None:
    one = run({f"{CONF}.{ROLLOUT}.temperature": 0.5, f"{KWARGS}.infer_service_params.temperature": 0.25})
    assert at(one.native(), f"{ROLLOUT}.temperature") == 0.25
    assert said(one, f"{CONF}.{ROLLOUT}.temperature") == [
        "note ARL550 0.5 here, 0.25 in the agent's infer_service_params, which samples"
    ]


@needs_verl
@pytest.mark.parametrize(
    ("changes", "steps"),
    [
        ({}, 5),
        ({f"{ENGINE}.env_args": {"max_steps": 9}}, 9),
        ({f"{ENGINE}.env_args": {"max_steps": 9}, f"{ENGINE}.max_steps": 2}, 2),
        ({f"{ENGINE}.env_args": {"max_steps": "nine"}}, 5),
    ],
)
def test_turns_of_released_files(changes: dict[str, Any], steps: int) -> None:
    assert run(changes).rollouts(1).max_steps == steps


@needs_verl
def test_times_of_released_files_and_of_the_flat_format() -> None:
    given = {"tool_timeout": 5, "trajectory_timeout": 70}
    settings = run({f"{ENGINE}.env_args": given, f"{ENGINE}.turn_timeout": 6.0}).rollouts(1)
    assert (settings.tool_timeout, settings.trajectory_timeout, settings.turn_timeout) == (5.0, 70.0, 6.0)
    assert run().rollouts(1).trajectory_timeout == 7200.0


@needs_verl
def test_limits_of_one_thing_in_two_places() -> None:
    """Workers share the rollouts in flight; a prompt and an answer fit into what verl pads them to."""
    changes = {f"{ENGINE}.max_prompt_length": 5000, f"{KWARGS}.infer_service_params.max_tokens": 9000}
    settings = run({**changes, f"{ENGINE}.n_parallel_agents": 9}).rollouts(4)
    assert (settings.max_prompt_length, settings.max_tokens, settings.n_parallel_agents) == (1024, 2048, 2)


@needs_verl
def test_a_file_agent_needs_no_name_that_is_registered(tmp_path: Path) -> None:
    changes = {f"{ENGINE}.agent_name": "mine"}
    assert said(run(changes), f"{ENGINE}.agent_name")[0].startswith("error ARL554 'mine' is no built-in")
    one = run({**changes, f"{ENGINE}.agent_engine_wrapper_path": str(tmp_path / "a.py")})
    assert said(one, f"{ENGINE}.agent_name") == []
    assert one.rollouts(1).agent_file == str(tmp_path / "a.py")


@needs_verl
def test_a_train_instance_without_an_agent() -> None:
    one = run({"train_instances[0].executor_kwargs.agent_service": REMOVED, "agent_instances": []})
    key = "train_instances[0].executor_kwargs.agent_service"
    assert said(one, key) == ["error ARL553 no agent instance acts for this train instance"]


def test_which_instance_trains() -> None:
    second = {"name": "B", "executor_kwargs": {"cluster_mode": "hybrid", "train_config": "${verl_conf}"}}
    text = {"train_instances[1]": second, "direct_conf.entrypoints": []}
    with pytest.raises(InstanceError, match="TRAIN, B: which one trains") as caught:
        run(text)
    assert caught.value.hint == "--instance TRAIN"
    assert run(text, instance="B").agent_name == "math"
    with pytest.raises(InstanceError, match="none is called 'C'"):
        run(text, instance="C")


@needs_verl
def test_a_configuration_of_its_own_has_its_own_keys() -> None:
    own = "      train_config: ${verl_conf}"
    text = SOUND.replace(own, "      train_config: {trainer: {project_name: x, experiment_name: y, nnodes: 2}}")
    one = run(text=text)
    found = NativeFinding("ARL519", "error", "trainer.nnodes", "wrong", "1")
    told = one.told(found)
    assert told.key == "train_instances[0].executor_kwargs.train_config.trainer.nnodes"
    assert told.line == next(number for number, line in enumerate(text.splitlines(), 1) if "nnodes: 2" in line)
    assert told.hint == "nnodes: 1"


def test_findings_of_verl_stand_at_the_keys_of_the_file() -> None:
    one = run()
    told = one.told(NativeFinding("ARL519", "error", "data.train_batch_size", "wrong", "8"))
    assert (told.key, told.file) == (f"{CONF}.data.train_batch_size", "config.yaml")
    assert told.line is not None
    assert one.told(NativeFinding("ARL515", "error", "", "verl refuses it", "")).key == CONF


def whole(folder: Path, step: int) -> Path:
    path = folder / f"global_step_{step}"
    path.mkdir(parents=True)
    (folder / POINTER).write_text(str(step))
    return path


def test_a_run_goes_on_unless_that_is_disabled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert run().beginning() is None
    path = whole(tmp_path / "checkpoints/p/e", 3)
    found = run().beginning()
    assert found is not None
    assert (found.step, found.path) == (3, path)
    assert run({f"{CONF}.trainer.resume_mode": "disable"}).beginning() is None
    assert run({f"{CONF}.trainer.experiment_name": "f"}).beginning() is None


def test_a_named_checkpoint_begins_a_run_that_has_none_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    named = {f"{CONF}.trainer.resume_mode": "resume_path", f"{CONF}.trainer.resume_from_path": "/far/global_step_7"}
    first = run(named).beginning()
    assert first is not None
    assert (first.step, first.path) == (7, Path("/far/global_step_7"))
    whole(tmp_path / "checkpoints/p/e", 8)
    second = run(named).beginning()
    assert second is not None
    assert second.step == 8


def test_checkpoints_stand_where_the_file_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert run().folder == tmp_path / "checkpoints/p/e"
    assert run({f"{CONF}.trainer.default_local_dir": "/big/disk"}).folder == Path("/big/disk")
    assert (
        run(templates={f"{CONF}.trainer.default_local_dir": "checkpoints/a/b"}).folder == tmp_path / "checkpoints/p/e"
    )


@pytest.mark.parametrize(("given", "file"), [("/r/all.jsonl", "/r/all.jsonl"), ("/r", "/r/trajectories.jsonl")])
def test_where_trajectories_are_written(given: str, file: str) -> None:
    assert run({f"{KWARGS}.trajectory_save_dir": given}).limits.trajectories == file


def test_the_rows_of_the_training_data(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = tmp_path / "train.parquet"
    pq.write_table(pa.table({"prompt": ["a"] * 11}), path)
    assert run({f"{CONF}.data.train_files": str(path)}).train_rows == 11
    assert run().train_rows is None
