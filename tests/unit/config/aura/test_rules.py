"""Relations of the instances format: what breaks them, what does not, and who wrote the values."""

from __future__ import annotations

from typing import Any

import pytest

from agentic_rl.config.aura.rules.registry import VERL_RULES, broken_relations
from agentic_rl.config.aura.validation import validate
from aura_trees import REMOVED, SOUND, checked, composed, told

CONF = "verl_conf"
ACTOR, ROLLOUT, MODEL = (f"{CONF}.actor_rollout_ref.{name}" for name in ("actor", "rollout", "model"))
TRAIN = "train_instances[0].executor_kwargs"
AGENT = "agent_instances[0].executor_kwargs"
LIMITS = f"{AGENT}.agent_engine_kwargs"
SAMPLED = f"{AGENT}.infer_service_params"
INFER = "infer_instances[0].executor_kwargs"
ENGINE = "infer_instances[0].executor_kwargs.engine_kwargs"
LOOP = f"{ROLLOUT}.agent.agent_loop_manager_class"
BATCH, SYNC = f"{CONF}.data.train_batch_size", f"{CONF}.trainer.v1.separate_async"
BATCHED, CHUNKED = f"{ROLLOUT}.max_num_batched_tokens", f"{ROLLOUT}.enable_chunked_prefill"
JOB = "direct_conf.entrypoints[0]"


def test_the_sound_file_has_nothing_to_tell() -> None:
    assert told({}) == []
    assert checked().config is not None


MINDSPEED = {f"{TRAIN}.train_engine": "mindspeed_rl", f"{TRAIN}.train_config": {"megatron_training": {}}}
BROKEN: list[tuple[dict[str, Any], list[str]]] = [
    ({f"{TRAIN}.agent_service": "OTHER"}, [f"error ARL283 {TRAIN}.agent_service"]),
    ({f"{CONF}.extras": {"infer_service": "OTHER"}}, [f"error ARL283 {CONF}.extras.infer_service"]),
    ({f"{AGENT}.infer_service_params.model": "OTHER"}, [f"error ARL283 {AGENT}.infer_service_params.model"]),
    ({f"{AGENT}.infer_service_params.model": "qwen2.5-7b"}, []),
    ({f"{JOB}.job_name": "OTHER"}, [f"error ARL284 {JOB}.job_name"]),
    ({f"{JOB}.job_name": ""}, [f"error ARL284 {JOB}.job_name"]),
    ({"direct_conf.entrypoints": []}, ["warning ARL284 direct_conf.entrypoints"]),
    ({f"{JOB}.job_type": "tarin"}, [f"error ARL102 {JOB}.job_type"]),
    ({**MINDSPEED, f"{JOB}.job_type": "msrl_train"}, [f"note ARL023 {JOB}.job_type"]),
    ({**MINDSPEED, f"{JOB}.job_type": "train"}, []),
    ({f"{TRAIN}.train_engine": "mindspeed_rl"}, [f"error ARL027 {TRAIN}.train_config"]),
    ({"agentic_ai.mode": "serve", f"{JOB}.job_name": ""}, ["error ARL027 serve_conf"]),
    ({f"{CONF}.trainer.logger": ["console", "consol"]}, [f"error ARL102 {CONF}.trainer.logger"]),
    ({f"{CONF}.trainer.logger": ["tensorboard", "wandb", "file"]}, []),
    ({f"{ENGINE}.chat_server": "localhost:8080"}, [f"error ARL103 {ENGINE}.chat_server"]),
    ({f"{ENGINE}.chat_server": ["http://a:1", "ftp://b"]}, [f"error ARL103 {ENGINE}.chat_server[1]"]),
    ({f"{ENGINE}.prefill_server_list": ["x"]}, [f"error ARL103 {ENGINE}.prefill_server_list[0]"]),
    ({"serve_conf": {"port": 8080}}, ["warning ARL219 serve_conf.port"]),
    ({"serve_conf": {"port": 8080}, f"{ENGINE}.chat_server": "http://node2:8080"}, []),
    ({f"{CONF}.algorithm.use_kl_in_reward": True}, [f"error ARL203 {CONF}.algorithm.use_kl_in_reward"]),
    ({f"{ACTOR}.ppo_mini_batch_size": 32}, [f"error ARL204 {ACTOR}.ppo_mini_batch_size"]),
    ({f"{CONF}.data.train_batch_size": 24}, [f"warning ARL231 {CONF}.data.train_batch_size"]),
    ({f"{ACTOR}.ppo_micro_batch_size_per_gpu": 3}, [f"error ARL537 {ACTOR}.ppo_micro_batch_size_per_gpu"]),
    ({f"{ROLLOUT}.tensor_model_parallel_size": 3}, [f"error ARL528 {ROLLOUT}.tensor_model_parallel_size"]),
    ({f"{ROLLOUT}.tensor_model_parallel_size": 3, f"{TRAIN}.cluster_mode": "one_step_off"}, []),
    (
        {f"{ROLLOUT}.response_length": 4096},
        [f"error ARL287 {ROLLOUT}.max_model_len", f"warning ARL288 {ROLLOUT}.response_length"],
    ),
    ({CHUNKED: False}, []),
    (
        {CHUNKED: False, BATCHED: 4095},
        [f"error ARL289 {BATCHED}"],
    ),
    (
        {CHUNKED: REMOVED, BATCHED: 4095},
        [f"warning ARL289 {BATCHED}"],
    ),
    ({f"{ACTOR}.megatron": {"tensor_model_parallel_size": 2}}, [f"error ARL290 {ACTOR}.megatron"]),
    ({f"{ACTOR}.strategy": "fsdp2", f"{ACTOR}.fsdp_config": {"param_offload": True}}, []),
    ({f"{ROLLOUT}.agent": {"agent_loop_manager_class": "a.b.Class"}}, []),
    ({f"{ROLLOUT}.agent": {"agent_loop_manager_class": "Class"}}, [f"error ARL103 {LOOP}"]),
    ({f"{CONF}.data.train_batch_size": 24, f"{TRAIN}.cluster_mode": "one_step_off"}, [f"error ARL273 {BATCH}"]),
    ({SYNC: {"parameter_sync_step": 1}, f"{TRAIN}.cluster_mode": "one_step_off"}, []),
    ({SYNC: {"parameter_sync_step": 2}, f"{TRAIN}.cluster_mode": "one_step_off"}, [f"error ARL273 {BATCH}"]),
    ({SYNC: {"parameter_sync_step": 2}}, []),
    ({f"{ENGINE}.port": 0}, [f"error ARL101 {ENGINE}.port"]),
    ({f"{ENGINE}.gpu_memory_utilization": 1.7}, [f"error ARL101 {ENGINE}.gpu_memory_utilization"]),
    ({f"{ENGINE}.tensor_parallel_size": 0}, []),
    ({f"{SAMPLED}.top_p": 1, f"{SAMPLED}.top_k": -1, f"{SAMPLED}.temperature": 1}, []),
    ({f"{SAMPLED}.top_p": 0}, [f"error ARL101 {SAMPLED}.top_p"]),
    ({f"{SAMPLED}.max_tokens": "2048"}, [f"error ARL030 {SAMPLED}.max_tokens"]),
    ({f"{SAMPLED}.temperature": 0}, [f"warning ARL250 {SAMPLED}.temperature"]),
    ({"infer_instances[0].resource_info": [{"NPU": 4}]}, []),
    ({"infer_instances[0].resource_info": [{"NPU": -4}]}, ["error ARL101 infer_instances[0].resource_info[0].NPU"]),
    ({"infer_instances[0].resource_info": ["NPU"]}, ["error ARL030 infer_instances[0].resource_info[0]"]),
    (
        {"infer_instances[0].executor_kwargs.engine": "vlm_mp"},
        ["warning ARL102 infer_instances[0].executor_kwargs.engine"],
    ),
    ({f"{TRAIN}.train_config": {"megatron_training": {}}}, [f"error ARL027 {TRAIN}.train_config"]),
    ({f"{CONF}.data.truncation": "left", f"{CONF}.data.custom_cls": {"path": "mine.py", "name": "Mine"}}, []),
    ({f"{CONF}.algorithm.kl_ctrl": {"kl_coef": 0.0}}, [f"warning ARL296 {CONF}.algorithm.kl_ctrl.kl_coef"]),
    ({f"{CONF}.trainer.device": "cuda"}, [f"note ARL297 {CONF}.trainer.device"]),
    ({f"{CONF}.trainer.device": "gpu"}, [f"note ARL297 {CONF}.trainer.device"]),
    ({f"{LIMITS}.simplify_think_content": True, f"{LIMITS}.max_steps": 1}, []),
    ({f"{LIMITS}.simplify_think_content": True, f"{LIMITS}.env_args": {"max_steps": 1}}, []),
    ({f"{ENGINE}.model_name": "Qwen2.5-7B-Instruct"}, []),
    ({f"{ENGINE}.model_name": "policy"}, []),
    ({f"{ENGINE}.model_name": "qwen2.5-1.5b"}, [f"warning ARL298 {ENGINE}.model_name"]),
    ({f"{ENGINE}.model_name": "Qwen3-7B"}, [f"warning ARL298 {ENGINE}.model_name"]),
]


@pytest.mark.parametrize(("changes", "wanted"), BROKEN, ids=[str(index) for index in range(len(BROKEN))])
def test_relations(changes: dict[str, Any], wanted: list[str]) -> None:
    assert sorted(told(changes)) == sorted(wanted)


def test_a_message_has_value_rule_and_remedy_and_a_place() -> None:
    (found,) = checked({f"{ACTOR}.ppo_mini_batch_size": 32}).findings
    assert found.message == "32 prompts, but train_batch_size 16 prompts; a mini batch can't be larger"
    assert found.hint == "ppo_mini_batch_size: 16"
    assert (found.file, found.line) == ("config.yaml", SOUND.splitlines().index("      ppo_mini_batch_size: 16") + 1)


def test_a_relation_of_values_that_nobody_wrote_is_a_warning() -> None:
    batch = f"{CONF}.data.train_batch_size"
    written = {batch: 4, f"{ACTOR}.ppo_mini_batch_size": 8}
    assert f"error ARL204 {ACTOR}.ppo_mini_batch_size" in told(written)
    of_nobody = dict.fromkeys(written, REMOVED)
    found = checked(of_nobody, templates=written).findings
    (one,) = [one for one in found if one.code == "ARL204"]
    assert one.severity == "warning"
    assert one.message.endswith("(from the template ppo_trainer)")
    assert "train_batch_size 4 (from the template ppo_trainer)" in one.message


def test_a_template_of_another_strategy() -> None:
    found = told({}, {f"{ACTOR}.megatron.tensor_model_parallel_size": 4})
    assert found == [f"warning ARL290 {ACTOR}.strategy"]
    assert told({}, {f"{ACTOR}.fsdp_config.param_offload": True}) == []


def test_what_a_template_leaves_open_has_the_documented_default() -> None:
    key = f"{ACTOR}.ppo_micro_batch_size_per_gpu"
    validated = checked({key: REMOVED}, templates={key: None})
    assert validated.findings == []
    assert validated.values[key] == 2


def test_a_configuration_of_its_own_is_checked_under_its_key() -> None:
    tree = composed(SOUND).tree["verl_conf"]
    tree["data"] = {**tree["data"], "truncation": "left"}
    found = told({f"{TRAIN}.train_config": tree})
    assert found == [f"error ARL291 {TRAIN}.train_config.data.truncation"]


def test_released_names_are_read_with_a_note() -> None:
    changes = {
        f"{TRAIN}.cluster_mode": REMOVED,
        f"{TRAIN}.train_engine": REMOVED,
        f"{TRAIN}.train_config": REMOVED,
        f"{TRAIN}.work_mode": "fully_async",
        f"{TRAIN}.rl_framework": "verl",
        f"{TRAIN}.rl_framework_kwargs": {"verl_conf": "${verl_conf}"},
    }
    validated = checked(changes)
    assert {one.severity for one in validated.findings} == {"note"}
    assert {one.key for one in validated.findings} == {key for key in changes if changes[key] is not REMOVED}
    assert validated.config is not None
    kwargs = validated.config.train_instances[0].executor_kwargs
    assert (kwargs.cluster_mode, kwargs.train_engine) == ("fully_async", "verl")
    assert kwargs.train_config is not None
    assert kwargs.train_config["data"]["train_batch_size"] == 16


def test_work_mode_wins_over_cluster_mode_with_a_warning() -> None:
    validated = checked({f"{TRAIN}.work_mode": "one_step_off"})
    assert [f"{one.severity} {one.key}" for one in validated.findings] == [f"warning {TRAIN}.cluster_mode"]
    assert validated.values[f"{TRAIN}.cluster_mode"] == "one_step_off"


def test_two_names_of_one_engine_must_agree() -> None:
    assert told({f"{TRAIN}.rl_framework": "mindspeed_rl"}) == [f"error ARL024 {TRAIN}.rl_framework"]
    assert told({f"{TRAIN}.rl_framework": "verl"}) == []


def test_misspelled_keys_are_errors_and_others_have_no_effect() -> None:
    assert told({"agentic_ai.log_levle": "INFO"}) == ["error ARL020 agentic_ai.log_levle"]
    assert told({"agentic_ai.colour": "red"}) == ["warning ARL020 agentic_ai.colour"]
    assert told({"pd_mode": False}) == ["note ARL020 pd_mode"]
    assert told({f"{LIMITS}.env_args": {"max_steps": 3}}) == []


def test_the_native_tree_has_defaults_of_the_chosen_strategy_alone() -> None:
    config = checked().config
    assert config is not None
    assert config.verl_conf is not None
    native = config.verl_conf.native()
    assert "megatron" not in native["actor_rollout_ref"]["actor"]
    assert "project_name" not in native["trainer"]
    assert native["actor_rollout_ref"]["actor"]["kl_loss_coef"] == 0.001
    assert native["actor_rollout_ref"]["rollout"]["max_num_batched_tokens"] == 8192


def test_no_rule_stands_twice() -> None:
    assert len({id(one.check) for one in VERL_RULES}) == len(VERL_RULES)


@pytest.mark.parametrize(
    "tree",
    [
        {"train_instances": None, "agentic_ai": 3},
        {"agentic_ai": {"mode": "direct", "log_dir": "/tmp"}, "train_instances": [None, 3, {"name": []}]},
        {"verl_conf": {"actor_rollout_ref": [1], "data": {"train_batch_size": {}}}, "infer_instances": {"a": 1}},
        {
            "agent_instances": [{"executor_kwargs": {"infer_service_params": {1: 2}}}],
            "direct_conf": {"entrypoints": [[]]},
        },
        {
            "train_instances": [
                {"executor_kwargs": {"train_config": {"actor_rollout_ref": 3}, "cluster_mode": "hybrid"}}
            ]
        },
    ],
)
def test_nonsense_gives_findings(tree: dict[str, Any]) -> None:
    nonsense = composed(SOUND)
    nonsense.tree = {**nonsense.tree, **tree}
    assert any(one.severity == "error" for one in validate(nonsense).findings)


def relations_of_files(facts: dict[str, Any], changes: dict[str, Any]) -> list[tuple[str, str, str]]:
    tree = composed(SOUND, changes)
    broken = broken_relations(validate(tree).values, tree, {}, {CONF: facts})
    return [(rule.page.code, problem.key, problem.message) for rule, problem in broken]


WRITTEN_BY_8 = {
    "@checkpoint.path": "/home/me/checkpoints/p/e/global_step_20",
    "@checkpoint.world_size": 8,
    "@checkpoint.backend": "verl",
    "@checkpoint.step": 20,
}


def test_a_checkpoint_of_another_number_of_devices() -> None:
    names = {f"{CONF}.trainer.project_name": "p", f"{CONF}.trainer.experiment_name": "e"}
    assert relations_of_files(WRITTEN_BY_8, names) == []
    ((code, key, message),) = relations_of_files(WRITTEN_BY_8, {**names, f"{CONF}.trainer.n_gpus_per_node": 4})
    assert (code, key) == ("ARL260", f"{CONF}.trainer.n_gpus_per_node")
    assert message.startswith("n_gpus_per_node 4, but the run would go on from checkpoints/p/e/global_step_20, which 8")
    disabled = {**names, f"{CONF}.trainer.n_gpus_per_node": 4, f"{CONF}.trainer.resume_mode": "disable"}
    assert relations_of_files(WRITTEN_BY_8, disabled) == []


def test_heads_and_rows() -> None:
    heads = {"@model.num_attention_heads": 28, "@model.num_key_value_heads": 4}
    assert [one[0] for one in relations_of_files(heads, {f"{ROLLOUT}.tensor_model_parallel_size": 8})] == ["ARL271"]
    assert relations_of_files(heads, {f"{ROLLOUT}.tensor_model_parallel_size": 4}) == []
    assert [one[:2] for one in relations_of_files({"@train.rows": 9}, {})] == [("ARL544", BATCH)]
    assert relations_of_files({"@train.rows": 16}, {}) == []


def test_tokens_of_a_micro_batch_hold_the_longest_sample() -> None:
    key = f"{ACTOR}.ppo_max_token_len_per_gpu"
    by_tokens = {f"{ACTOR}.use_dynamic_bsz": True, f"{ROLLOUT}.log_prob_use_dynamic_bsz": True}
    by_tokens |= {f"{ROLLOUT}.log_prob_max_token_len_per_gpu": 32768}
    assert told({**by_tokens, key: 3072 * 8}) == []
    assert told({**by_tokens, key: 3071}) == [f"error ARL243 {key}"]
    assert told({key: 3071}) == []
