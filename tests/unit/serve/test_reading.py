"""What serve mode takes of a configuration."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from agentic_rl.config.aura.schema import AuraConfig
from agentic_rl.config.diagnostics import ConfigError
from agentic_rl.serve.reading import remarks, settings_of
from agentic_rl.serve.settings import Settings

TREE: dict[str, Any] = {
    "agentic_ai": {"mode": "serve", "log_level": "DEBUG", "log_dir": "/var/log/agents"},
    "serve_conf": {"port": 9000},
    "train_instances": [
        {
            "name": "TRAIN",
            "executor_kwargs": {
                "cluster_mode": "hybrid",
                "train_config": {"trainer": {"project_name": "p", "experiment_name": "e"}},
            },
            "resource_info": [{"NPU": 8}],
        }
    ],
    "agent_instances": [
        {
            "name": "HELPER",
            "executor_num": 2,
            "executor_kwargs": {
                "agent_engine": "rllm",
                "agent_engine_kwargs": {"agent_name": "math", "tokenizer": "/models/t", "max_steps": 3},
                "infer_service_params": {"top_p": 0.9, "temperature": 0.7, "max_tokens": 512, "model": "SMALL"},
                "trajectory_save_dir": "/data/t.jsonl",
            },
        }
    ],
    "infer_instances": [
        {
            "name": "SMALL",
            "executor_kwargs": {
                "engine": "vllm_proxy",
                "engine_kwargs": {
                    "chat_server": ["http://a:8000/v1", "http://b:8000"],
                    "prefill_server_list": ["c:1"],
                    "decode_server_list": ["d:1"],
                    "model_name": "small-7b",
                },
            },
        },
        {
            "name": "OWN",
            "executor_kwargs": {
                "engine": "vllm_mp",
                "engine_kwargs": {"host": "0.0.0.0", "port": 8333, "model": "/models/m", "max_model_len": 128},
            },
            "resource_info": [{"NPU": 4}],
        },
    ],
}


def changed(key: str, value: Any) -> dict[str, Any]:
    """The tree with another value at a dotted key; `del` takes it away."""
    tree = deepcopy(TREE)
    *above, last = [int(part) if part.isdigit() else part for part in key.split(".")]
    here: Any = tree
    for part in above:
        here = here[part]
    if value == "del":
        del here[last]
    else:
        here[last] = value
    return tree


def read(tree: dict[str, Any]) -> Settings:
    return settings_of(AuraConfig.model_validate(tree), "c.yaml", ["a=1"])


def test_everything_has_its_place() -> None:
    settings = read(TREE)
    assert settings.config_path.endswith("/c.yaml")
    assert (settings.overrides, settings.host, settings.port) == (("a=1",), "0.0.0.0", 9000)
    assert (settings.log_dir, settings.log_level) == ("/var/log/agents", "DEBUG")
    small, own = settings.infers
    assert (small.model, small.servers, small.started_here) == ("small-7b", ("http://a:8000", "http://b:8000"), False)
    assert (small.prefill, small.decode) == (("http://c:1",), ("http://d:1",))
    assert (own.servers, own.path, own.started_here) == (("http://127.0.0.1:8333",), "/models/m", True)
    assert (own.model, own.options, own.resources.amounts) == ("OWN", {"max_model_len": 128}, {"NPU": 4})
    (helper,) = settings.agents
    assert (helper.agent, helper.engine, helper.infer, helper.tokenizer) == ("math", "rllm", small, "/models/t")
    assert (helper.max_steps, helper.max_prompt_length, helper.n_parallel_agents) == (3, 2048, 1024)
    assert helper.sampling == {"top_p": 0.9, "temperature": 0.7, "max_tokens": 512}
    assert (helper.trajectories, helper.resources.executors) == ("/data/t.jsonl", 2)
    (train,) = settings.trains
    assert (train.name, train.folder, train.resources.amounts) == ("TRAIN", "checkpoints/p/e", {"NPU": 8})


def test_the_documented_address_holds_without_the_section() -> None:
    settings = read(changed("serve_conf", "del"))
    assert (settings.host, settings.port) == ("0.0.0.0", 8030)


def test_an_external_server_has_one_address() -> None:
    kwargs = {"engine": "vllm_external", "engine_kwargs": {"host": "::", "port": 8000, "model_name": "m"}}
    own = read(changed("infer_instances.1.executor_kwargs", kwargs)).infers[1]
    assert (own.servers, own.model, own.started_here) == (("http://[::1]:8000",), "m", False)


def test_the_only_model_need_not_be_named() -> None:
    tree = changed("agent_instances.0.executor_kwargs.infer_service_params", {})
    tree["infer_instances"].pop()
    assert read(tree).agents[0].infer.name == "SMALL"


PARAMS = "agent_instances.0.executor_kwargs.infer_service_params"
OWN = "infer_instances.1.executor_kwargs.engine_kwargs"


@pytest.mark.parametrize(
    ("key", "value", "code", "at"),
    [
        (f"{PARAMS}.model", "LARGE", "ARL709", "agent_instances[0].executor_kwargs.infer_service_params.model"),
        (f"{PARAMS}.model", "del", "ARL709", "agent_instances[0].executor_kwargs.infer_service_params.model"),
        (f"{OWN}.port", "del", "ARL706", "infer_instances[1].executor_kwargs.engine_kwargs.port"),
        (f"{OWN}.model", "del", "ARL706", "infer_instances[1].executor_kwargs.engine_kwargs.model"),
        ("agent_instances.0.resource_info", [{"NPU": 3}], "ARL704", "agent_instances[0].resource_info"),
        (
            "infer_instances.0.executor_kwargs.engine_kwargs.chat_server",
            ["ftp://a"],
            "ARL706",
            "infer_instances[0].executor_kwargs.engine_kwargs.chat_server",
        ),
    ],
)
def test_what_can_not_be_served_is_found_where_it_stands(key: str, value: Any, code: str, at: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read(changed(key, value))
    (finding,) = caught.value.report
    assert (finding.code, finding.key) == (code, at)
    assert finding.hint


def said(tree: dict[str, Any]) -> list[tuple[str, str]]:
    return [(one.code, one.key) for one in remarks(AuraConfig.model_validate(tree), read(tree))]


def test_nothing_is_said_of_a_file_whose_keys_all_have_an_effect() -> None:
    assert said(TREE) == []


@pytest.mark.parametrize(
    ("key", "value", "code"),
    [
        ("infer_instances.0.executor_num", 2, "ARL707"),
        ("infer_instances.0.resource_info", [{"NPU": 1}], "ARL707"),
        (f"{PARAMS}.repetition_penalty", 1.1, "ARL708"),
        ("agent_instances.0.executor_kwargs.agent_engine_kwargs.simplify_think_content", True, "ARL708"),
    ],
)
def test_a_key_without_effect_is_said(key: str, value: Any, code: str) -> None:
    assert [one for one, _ in said(changed(key, value))] == [code]
