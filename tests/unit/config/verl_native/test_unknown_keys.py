from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agentic_rl.backends.verl.composition import compose
from agentic_rl.config.verl_native.dataclass_fields import dataclass_fields
from agentic_rl.config.verl_native.installation import installed
from agentic_rl.config.verl_native.unknown_keys import UnknownKey, unknown_keys
from verl_doubles import HAS_VERL

needs_verl = pytest.mark.skipif(not HAS_VERL, reason="verl is not installed")

SOURCE = """
from dataclasses import dataclass
@dataclass
class Base:
    _target_: str = ""
    shared: int = 1
@dataclass
class NodeConfig(Base):
    _mutable_fields = {"shared"}
    hidden: bool = False
"""
TEMPLATE = {
    "critic": {"_target_": "verl.workers.config.NodeConfig", "rate": 1.0, "engine_kwargs": {"vllm": {"x": 1}}},
    "trainer": {"total_epochs": 30, "n_gpus_per_node": 8, "free": {}, "text": None},
    "ray_kwargs": {"ray_init": {"num_cpus": None}},
}


@pytest.fixture
def verl(tmp_path: Path) -> Path:
    folder = tmp_path / "workers" / "config"
    folder.mkdir(parents=True)
    (folder / "node.py").write_text(SOURCE)
    (folder / "broken.py").write_text("class :")
    return tmp_path


def test_fields_of_bases_count(verl: Path) -> None:
    assert dataclass_fields(verl)["NodeConfig"] == {"shared": "int", "hidden": "bool"}


@pytest.mark.parametrize(
    ("written", "unknown"),
    [
        ({"trainer": {"total_epochs": 1}}, []),
        ({"trainer": {"foo": 1}}, [UnknownKey("trainer.foo", ())]),
        ({"trainer": {"totl_epochs": 1}}, [UnknownKey("trainer.totl_epochs", ("trainer.total_epochs",))]),
        ({"trainer": {"n_gpus": 1}}, [UnknownKey("trainer.n_gpus", ("trainer.n_gpus_per_node",))]),
        ({"total_epochs": 1}, [UnknownKey("total_epochs", ("trainer.total_epochs",))]),
        ({"trainr": {"a": {"b": 1}}}, [UnknownKey("trainr", ("trainer",))]),
        ({"critic": {"hidden": True, "shared": 2}}, []),
        ({"critic": {"hiden": True}}, [UnknownKey("critic.hiden", ("critic.hidden",), "NodeConfig")]),
        ({"critic": {"engine_kwargs": {"vllm": {"any": 1}, "other": 2}}}, []),
        ({"trainer": {"free": {"any": 1}}, "ray_kwargs": {"ray_init": {"num_gpus": 1}}}, []),
        ({"trainer": {"total_epochs": {"a": 1}, "text": {"b": 1}}}, []),
        ({"trainer": {1: 2}}, [UnknownKey("trainer.1", ())]),
    ],
)
def test_keys_that_the_template_lacks(written: dict[str, Any], unknown: list[UnknownKey], verl: Path) -> None:
    assert unknown_keys(written, TEMPLATE, verl) == unknown


def test_without_the_source_dataclasses_say_nothing() -> None:
    assert unknown_keys({"critic": {"hidden": True}}, TEMPLATE) == [UnknownKey("critic.hidden", ())]


@needs_verl
@pytest.mark.verl
def test_keys_of_the_installed_dataclasses_are_known() -> None:
    from omegaconf import OmegaConf

    there = installed()
    assert there.config_dir is not None
    template: Any = OmegaConf.to_container(compose())
    written = {
        "actor_rollout_ref": {
            "rollout": {"enable_sleep_mode": False, "engine_kwargs": {"vllm": {"worker_extension_cls": "a.B"}}},
            "actor": {"use_rollout_log_probs": True, "fsdp_config": {"mixed_precision": {}}, "lr": 1e-6},
            "model": {"override_config": {"attn_implementation": "sdpa"}, "target_parameters": []},
        }
    }
    (unknown,) = unknown_keys(written, template, there.config_dir.parents[1])
    assert unknown.key == "actor_rollout_ref.actor.lr"
    assert unknown.near[0] == "actor_rollout_ref.actor.optim.lr"
    assert unknown.dataclass == "FSDPActorConfig"


@needs_verl
@pytest.mark.verl
def test_the_template_itself_is_known() -> None:
    from omegaconf import OmegaConf

    there = installed()
    assert there.config_dir is not None
    template: Any = OmegaConf.to_container(compose())
    resolved: Any = OmegaConf.to_container(compose(), resolve=True)
    assert unknown_keys(resolved, template, there.config_dir.parents[1]) == []
