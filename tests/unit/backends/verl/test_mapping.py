"""The table, key by key: every value arrives in verl's configuration, and the installed verl reads it there."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import pytest

from agentic_rl.backends.verl import rendering
from agentic_rl.backends.verl.composition import MEGATRON_TEMPLATE, TEMPLATE
from agentic_rl.backends.verl.mapping import ALWAYS, BY_DEVICE, TABLE, Entry, Native, Reader
from agentic_rl.config.fields.shape import shape_of
from agentic_rl.config.flat.dead_keys import DEAD
from agentic_rl.config.flat.names import LEVELS, dotted, field_of
from verl_doubles import BASE, HAS_VERL, at, expressions, flat_of, installation

pytestmark = pytest.mark.usefixtures("composed_once")
needs_verl = pytest.mark.skipif(not HAS_VERL, reason="verl is not installed")
NATIVES = [(entry, native) for entry in TABLE for native in entry.natives]
READERS = sorted({native.reader for _, native in NATIVES}, key=str)

CHOSEN: dict[str, Any] = {
    "tokenizer_name_or_path": "/data/other",
    "agent_name": "other",
    "device": "npu",
    "top_k": 0,
    "min_lr": 5e-7,
    "rollout_n": 5,
    "verl.ckpt_content": ["model", "hf_model"],
    "verl.policy_loss_model": "clip-cov",
    "verl.project_name": "other",
    "verl.experiment_name": "other",
    "verl.total_training_steps": 7,
    "verl.test_freq": 3,
    "verl.ppo_mini_batch_size": 32,
}
"""Values other than the default, where the type alone does not say one."""

GIVEN: dict[tuple[str, str], Any] = {
    ("device", "trainer.device"): "npu",
    ("top_k", "rollout.top_k"): -1,
    ("min_lr", "optim.min_lr_ratio"): 0.5,
    ("min_lr", "optim.min_lr"): 5e-7,
    ("verl.min_lr_ratio", "optim.min_lr"): 0.5e-6,
    ("verl.ckpt_content", "checkpoint.load_contents"): ["model"],
    ("verl.policy_loss_model", "policy_loss.loss_mode"): "clip_cov",
    ("verl.adv_estimator", "critic.enable"): True,
    ("use_tensorboard", "trainer.logger"): ["console", "tensorboard"],
}
"""(our key, end of verl's) -> what arrives, where that is not the value itself."""


COMPANIONS = {"agent_name": {"agent_engine_wrapper_path": "/data/agent.py"}}
"""What a value needs beside it."""


def test_every_key_stands_in_the_table_once() -> None:
    keys = [entry.key for entry in TABLE]
    assert len(keys) == len(set(keys))
    assert set(keys) == {dotted(level, name) for level in ("", "verl") for name in LEVELS[level]}


def test_keys_without_effect_are_those_that_a_check_reports() -> None:
    assert {entry.key for entry in TABLE if entry.kind == "dead"} == set(DEAD["verl"].keys)
    assert all(entry.note for entry in TABLE if entry.kind != "native")
    assert all(bool(entry.natives) == (entry.kind == "native") for entry in TABLE)


def test_what_the_adapter_decides_has_a_reason() -> None:
    assert all(fixed.reason for fixed in (*ALWAYS, *(one for group in BY_DEVICE.values() for one in group)))


def other_value(key: str) -> Any:
    """A valid value of `key` that is not its default (nor that of `BASE`)."""
    if key in CHOSEN:
        return CHOSEN[key]
    level, _, name = key.rpartition(".")
    field = field_of(level, name)
    shape, default = shape_of(field), BASE.get(key, field.default)
    if shape.kind == "bool":
        return not default
    if shape.kind == "choice":
        return next(choice for choice in reversed(shape.choices) if choice != default)
    if shape.kind == "path":
        return "/data/other"
    assert isinstance(default, (int, float)), key
    return default + 1 if shape.kind == "int" else (default / 2 or 0.5)


@cache
def before(template: str, critic: bool) -> dict[str, Any]:
    return rendered({"verl.adv_estimator": "gae"} if critic else {}, template)


def rendered(changes: dict[str, Any], template: str) -> dict[str, Any]:
    return rendering.render(flat_of(changes), template=template, installation=installation())


@needs_verl
@pytest.mark.verl
@pytest.mark.parametrize("template", [TEMPLATE, MEGATRON_TEMPLATE])
@pytest.mark.parametrize("entry", [entry for entry in TABLE if entry.natives], ids=lambda entry: entry.key)
def test_a_value_arrives(entry: Entry, template: str) -> None:
    other = "fsdp" if template == MEGATRON_TEMPLATE else "megatron"
    natives = [native for native in entry.natives if native.engine != other]
    if not natives:
        pytest.skip("a key of the other engine")
    critic = any(native.key.startswith("critic.") for native in natives)
    value = other_value(entry.key)
    default = before(template, critic and entry.key != "verl.adv_estimator")
    gae = {"verl.adv_estimator": "gae"} if critic else {}
    changed = rendered({**gae, **COMPANIONS.get(entry.key, {}), entry.key: value}, template)
    for native in natives:
        arrived = at(changed, native.key)
        assert arrived != at(default, native.key)
        assert arrived == expected(entry.key, native.key, value)
        assert all(at(changed, key) == arrived for key in native.through if f".{other}" not in key)


def expected(key: str, native: str, value: Any) -> Any:
    return next((given for (ours, end), given in GIVEN.items() if ours == key and native.endswith(end)), value)


@needs_verl
@pytest.mark.verl
@pytest.mark.parametrize("reader", READERS, ids=str)
def test_the_installed_verl_reads_it(reader: Reader) -> None:
    assert reader.expression in expressions(reader.file)


@pytest.mark.parametrize(("entry", "native"), NATIVES, ids=[f"{entry.key}-{native.key}" for entry, native in NATIVES])
def test_what_is_read_is_that_key(entry: Entry, native: Native) -> None:
    names = {key.rpartition(".")[2] for key in (native.key, *native.through)}
    assert names & set(re.findall(r"\w+", native.reader.expression))
