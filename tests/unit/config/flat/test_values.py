"""Broken values: the value, the rule and the remedy."""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable
from typing import Any

import pytest

from agentic_rl.config.flat import Validated
from agentic_rl.config.flat.names import LEVELS, dotted, field_of

Check = Callable[..., Validated]

BROKEN: list[tuple[str, Any, str, str, str]] = [
    ("use_kl_in_reward", "False", "ARL032", "text because of its quotes", "use_kl_in_reward: false"),
    ("test_only", "yes", "ARL032", "text because of its quotes", "test_only: true"),
    ("test_only", 1, "ARL030", "1 is a whole number; it must be true or false", "test_only: true"),
    ("test_only", 0.0, "ARL030", "must be true or false", "test_only: false"),
    ("test_only", 2, "ARL030", "must be true or false", "leave test_only out for its default, false"),
    ("rollout_n", "8", "ARL032", "text because of its quotes", "rollout_n: 8"),
    ("rollout_n", True, "ARL030", "true is a switch", "leave rollout_n out for its default, 2"),
    ("rollout_n", 8.0, "ARL030", "8.0 is a number; it must be a whole number from 1 to 64", "rollout_n: 8"),
    ("rollout_n", 0.2, "ARL030", "0.2 is a number", "rollout_n: 1"),
    ("rollout_n", 1e300, "ARL030", "must be a whole number", "leave rollout_n out"),
    ("rollout_n", 65, "ARL101", "65 is out of range", "rollout_n: 64"),
    ("rollout_n", 0, "ARL101", "from 1 to 64", "rollout_n: 1"),
    ("max_prompt_length", "1,024", "ARL030", "'1,024' is text", "max_prompt_length: 1024"),
    ("max_prompt_length", "16k", "ARL030", "'16k' is text", "max_prompt_length: 16384, or 16000"),
    ("rollout_n", "1,024", "ARL030", "'1,024' is text", "rollout_n: 64"),
    ("rollout_n", "1k", "ARL030", "'1k' is text", "leave rollout_n out"),
    ("rollout_n", "1,0", "ARL030", "'1,0' is text", "leave rollout_n out"),
    ("lr", "1,000", "ARL030", "'1,000' is text", "leave lr out"),
    ("rollout_n", "eight", "ARL030", "'eight' is text", "leave rollout_n out"),
    ("rollout_n", None, "ARL031", "null (nothing written)", "leave rollout_n out for its default, 2"),
    ("rollout_n", [8], "ARL030", "[8] is a list", "without brackets: rollout_n: 8"),
    ("rollout_n", [8, 4], "ARL030", "[8, 4] is a list", "one value"),
    ("rollout_n", {"a": 1}, "ARL030", "nothing may stand below rollout_n", "leave rollout_n out"),
    ("rollout_n", 10**5000, "ARL101", "a whole number of about 5001 digits is out of range", "rollout_n: 64"),
    ("seed", 2**63, "ARL101", "9223372036854775808 does not fit 64 bits", "default, 0"),
    ("top_k", 10**5000, "ARL101", "a whole number of about 5001 digits does not fit 64 bits", "default, 20"),
    ("top_k", -(2**63), "ARL101", "does not fit 64 bits", "default, 20"),
    ("verl__test_freq", 2**63, "ARL101", "does not fit 64 bits", "default, -1"),
    ("agent_engine_wrapper_path", "", "ARL103", "'' is empty", "leave agent_engine_wrapper_path out, or write a path"),
    ("rollout_n", "1" * 50, "ARL030", "is text; it must be a whole number", "leave rollout_n out"),
    ("dtype", "x", "ARL102", "'x' is not a choice", "leave dtype out for its default, bfloat16"),
    ("lr", "1e-6", "ARL032", "text because of its quotes", "lr: 1.0e-6"),
    ("lr", -1, "ARL101", "must be a number greater than 0", "default, 1.0e-6"),
    ("lr", math.nan, "ARL105", "nan is not a finite number", "default, 1.0e-6"),
    ("lr", -math.inf, "ARL105", "-inf is not a finite number", "default, 1.0e-6"),
    ("lr", True, "ARL030", "true is a switch; it must be a number", "default, 1.0e-6"),
    ("lr", 10**400, "ARL030", "is too large", "default, 1.0e-6"),
    ("top_p", 1.5, "ARL101", "greater than 0 and at most 1", "top_p: 1.0"),
    ("kl_coef", "None", "ARL032", "YAML's word for no value is null", "leave kl_coef out for its default, 0.05"),
    ("verl__total_training_steps", "None", "ARL032", "null", "write `total_training_steps: null`"),
    ("model_name", "None", "ARL032", "null", "write `model_name: null`"),
    ("tokenizer_name_or_path", "None", "ARL032", "this key needs a path", "write a path"),
    ("tokenizer_name_or_path", 3, "ARL030", "3 is a whole number; it must be a path", '"3"'),
    ("tokenizer_name_or_path", "", "ARL103", "'' is empty", "write a path"),
    ("tokenizer_name_or_path", "/" + "x" * 1024, "ARL103", "is too long", "write a path"),
    ("tokenizer_name_or_path", "/\ud800", "ARL103", "half a character", "write a path"),
    ("agent_name", False, "ARL030", "false is a switch", "quotes"),
    ("agent_name", "9agent", "ARL103", "a letter followed by letters", "write a letter"),
    ("agent_name", "math\n", "ARL103", "has the wrong form", "write a letter"),
    ("dtype", "bf16", "ARL102", "one of bfloat16, float16", "bfloat16"),
    ("dtype", "BFloat16", "ARL102", "'BFloat16' is not a choice", "dtype: bfloat16"),
    ("dtype", 16, "ARL030", "must be one of bfloat16, float16", '"16"'),
    ("kl_penalty", "low-var-kl", "ARL102", "is not a choice", "kl_penalty: low_var_kl"),
    ("verl__loss_agg_mode", "token_mean", "ARL102", "is not a choice", "loss_agg_mode: token-mean"),
    ("verl__test_freq", 0, "ARL101", "-1 (never) or a whole number greater than 0", "default, -1"),
    ("verl__test_freq", -2, "ARL101", "-1 (never)", "test_freq: -1"),
    ("verl__project_name", "a/b", "ARL103", "the name of one folder", "default, default-agent"),
    ("verl__project_name", "..", "ARL103", "the name of one folder", "default, default-agent"),
    ("verl__experiment_name", "a\\b", "ARL103", "the name of one folder", "default, default-experiment"),
    ("verl__experiment_name", "", "ARL103", "the name of one folder", "default, default-experiment"),
    ("verl__experiment_name", "a\0", "ARL103", "the name of one folder", "default, default-experiment"),
    ("verl__ckpt_content", [], "ARL104", "is empty", "default, [model, optimizer, extra]"),
    ("verl__ckpt_content", ["model", "model"], "ARL104", "names something twice", "ckpt_content: [model]"),
    ("verl__ckpt_content", "model, extra", "ARL030", "is text; it must be a list", "ckpt_content: [model, extra]"),
    ("verl__ckpt_content", 3, "ARL030", "3 is a whole number", "default, [model, optimizer, extra]"),
    ("dataset_additional_keys", "problem", "ARL030", "a list of texts, or null", "dataset_additional_keys: [problem]"),
    ("seed", datetime.date(2024, 1, 1), "ARL030", "2024-01-01 is a date", "default, 0"),
    ("agent_name", b"math", "ARL030", "binary data is binary data", "write a letter"),
]


@pytest.mark.parametrize("case", BROKEN, ids=[f"{one[0]}-{number}" for number, one in enumerate(BROKEN)])
def test_broken_value(case: tuple[str, Any, str, str, str], check: Check) -> None:
    key, value, code, message, hint = case
    result = check("verl", **{key: value})
    dotted_key = key.replace("__", ".")
    (finding,) = [one for one in result.findings if one.key == dotted_key and one.severity == "error"]
    assert finding.code == code
    assert message in finding.message
    assert hint in finding.hint
    assert finding.line is not None
    assert dotted_key not in result.values
    assert result.config is None


def test_broken_item_of_a_list_is_named_by_its_place(check: Check) -> None:
    result = check("verl", verl__ckpt_content=["model", "optimiser", 3])
    found = {one.key: one for one in result.findings if one.severity == "error"}
    assert list(found) == ["verl.ckpt_content[1]", "verl.ckpt_content[2]"]
    assert found["verl.ckpt_content[1]"].hint == "item 1 of ckpt_content: optimizer"


def test_a_name_that_can_not_be_null_may_be_none_but_not_python_s_none(check: Check) -> None:
    for name in ("none", "nil"):
        assert check("verl", verl__experiment_name=name, verl__project_name=name).config is not None
    broken = check("verl", verl__experiment_name="None").findings
    assert [one.key for one in broken if one.code == "ARL032"] == ["verl.experiment_name"]


def test_none_as_text_inside_a_list(check: Check) -> None:
    result = check("mindspeed_rl", dataset_additional_keys=["problem", "None"])
    (finding,) = [one for one in result.findings if one.severity == "error"]
    assert (finding.code, finding.key) == ("ARL032", "dataset_additional_keys[1]")


def test_one_broken_value_hides_neither_the_others_nor_the_relations(check: Check) -> None:
    result = check("verl", lr="fast", rollout_n=0, verl__train_batch_size=4, verl__ppo_mini_batch_size=8)
    errors = {one.key: one.code for one in result.findings if one.severity == "error"}
    assert errors == {"lr": "ARL030", "rollout_n": "ARL101", "verl.ppo_mini_batch_size": "ARL204"}
    assert result.values["verl.train_batch_size"] == 4
    assert result.values["temperature"] == 0.6


def test_whole_numbers_are_numbers(check: Check) -> None:
    result = check("verl", lr=1, verl__total_training_steps=None, verl__project_name="...", seed=2**63 - 1)
    assert result.config is not None
    assert (result.config.lr, type(result.config.lr)) == (1.0, float)
    assert result.config.seed == 2**63 - 1


def test_every_required_key_has_an_example_that_validates(check: Check) -> None:
    """The second pass of the reader puts the example where a required value is broken."""
    for section, names in LEVELS.items():
        for name in names:
            field = field_of(section, name)
            if not field.is_required():
                continue
            assert field.examples, dotted(section, name)
            backend = section or "local"
            key = f"{section}__{name}" if section else name
            example = check(backend, **({key: field.examples[0]} if key != "train_backend" else {}))
            assert dotted(section, name) in example.values
            broken = check(backend, **{key: 3})
            assert dotted(section, name) not in broken.values
            assert len([one for one in broken.findings if one.severity == "error"]) == 1
