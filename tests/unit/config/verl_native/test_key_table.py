from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from agentic_rl.config.verl_native import key_table as module
from agentic_rl.config.verl_native.key_table import KeyTable, key_table
from verl_doubles import HAS_VERL

SHIPPED = json.loads((files("agentic_rl.config.verl_native") / "verl-0.9.1.json").read_text())


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    """Each test asks anew."""
    key_table.cache_clear()
    yield
    key_table.cache_clear()


def at(keys: Mapping[str, Any], key: str) -> Any:
    """What the table has at a dotted key."""
    for part in key.split("."):
        keys = keys[part]
    return keys


@pytest.mark.parametrize(
    ("key", "kind"),
    [
        ("actor_rollout_ref.actor.optim.lr", "float"),
        ("actor_rollout_ref.actor.fsdp_config.param_offload", "bool"),
        ("actor_rollout_ref.actor.megatron.tensor_model_parallel_size", "int"),
        ("actor_rollout_ref.rollout.n", "int"),
        ("actor_rollout_ref.model.path", "str"),
        ("data.seed", "any"),
        ("trainer.logger", "list"),
        ("trainer.v1.trainer_mode", "str"),
    ],
)
def test_the_shipped_table_has_the_keys_of_all_engines(key: str, kind: str) -> None:
    assert SHIPPED["verl"] == "0.9.1"
    assert at(SHIPPED["keys"], key) == kind


def test_without_verl_the_shipped_table_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "verl_version", lambda: None)
    assert key_table() == KeyTable("0.9.1", SHIPPED["keys"], is_installed=False)
    assert key_table().name == "verl 0.9.1 (none is installed)"


def test_the_shipped_table_holds_for_the_same_verl(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "verl_version", lambda: "0.9.1")
    assert key_table().name == "verl 0.9.1"


def test_another_verl_without_templates_leaves_the_shipped_table(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(module, "verl_version", lambda: "0.8.0")
    monkeypatch.setattr("agentic_rl.config.verl_native.installation.config_dir", lambda: None)
    assert (key_table().version, key_table().is_installed) == ("0.9.1", False)


@pytest.mark.verl
@pytest.mark.skipif(not HAS_VERL, reason="verl is not installed")
def test_another_verl_has_its_own_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """The shipped table is that of the installed verl, made anew."""
    monkeypatch.setattr(module, "verl_version", lambda: "0.9.2")
    table = key_table()
    assert (table.version, table.is_installed) == ("0.9.2", True)
    assert table.keys == SHIPPED["keys"]
