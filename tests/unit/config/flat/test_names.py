"""Keys under other names, at other levels, or unknown."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from agentic_rl.config.diagnostics import Finding
from agentic_rl.config.flat import Validated

Check = Callable[..., Validated]


def only(result: Validated, code: str) -> Finding:
    (finding,) = [one for one in result.findings if one.code == code]
    return finding


@pytest.mark.parametrize(
    ("backend", "written", "real", "value"),
    [
        ("mindspeed_rl", "seq_length", "seq_len", 4096),
        ("verl", "kl_loss_coef", "kl_loss_coeff", 0.5),
        ("local", "kl_loss_coef", "kl_loss_coeff", 0.5),
        ("verl", "policy_loss_mode", "policy_loss_model", "gpg"),
        ("local", "policy_loss_mode", "policy_loss_model", "gpg"),
    ],
)
def test_other_spelling_is_read_with_a_note(backend: str, written: str, real: str, value: Any, check: Check) -> None:
    result = check(backend, **{f"{backend}__{written}": value})
    assert result.values[f"{backend}.{real}"] == value
    note = only(result, "ARL023")
    assert (note.severity, note.key) == ("note", f"{backend}.{written}")
    assert f"{real}: {value}" == note.hint
    assert result.config is not None


def test_error_of_another_spelling_stands_where_it_was_written(check: Check) -> None:
    result = check("verl", verl__kl_loss_coef=2)
    refusal = only(result, "ARL101")
    assert refusal.key == "verl.kl_loss_coeff"
    assert refusal.line == only(result, "ARL023").line


def test_both_spellings_with_one_value_are_a_note(check: Check) -> None:
    result = check("verl", verl__kl_loss_coef=0.5, verl__kl_loss_coeff=0.5)
    assert only(result, "ARL023").hint == "remove verl.kl_loss_coef"
    assert result.config is not None


@pytest.mark.parametrize("other", [0.25, "0.5", True])
def test_both_spellings_with_two_values_are_an_error(other: Any, check: Check) -> None:
    result = check("verl", verl__kl_loss_coef=0.5, verl__kl_loss_coeff=other)
    finding = only(result, "ARL024")
    assert (finding.severity, finding.key) == ("error", "verl.kl_loss_coef")
    assert "keep verl.kl_loss_coeff alone" in finding.hint
    assert result.config is None


@pytest.mark.parametrize("backend", ["verl", "local"])
def test_spelling_of_the_page_is_read_as_the_estimator(backend: str, check: Check) -> None:
    result = check(backend, **{f"{backend}__kl_loss_type": "low_bar_kl", f"{backend}__use_kl_loss": True})
    assert result.values[f"{backend}.kl_loss_type"] == "low_var_kl"
    assert only(result, "ARL023").key == f"{backend}.kl_loss_type"


def test_undocumented_key_is_accepted_with_a_warning(check: Check) -> None:
    result = check("mindspeed_rl", num_node=2, mindspeed_rl__recompute_method="block")
    warnings = [one for one in result.findings if one.code == "ARL025"]
    assert [one.key for one in warnings] == ["num_node", "mindspeed_rl.recompute_method"]
    assert {one.severity for one in warnings} == {"warning"}
    assert (result.values["num_node"], result.values["mindspeed_rl.recompute_method"]) == (2, "block")


def test_dispatch_size_inside_the_section_is_read_as_the_shared_key(check: Check) -> None:
    result = check("mindspeed_rl", mindspeed_rl__actor_rollout_dispatch_size=16)
    assert result.values["actor_rollout_dispatch_size"] == 16
    warning = only(result, "ARL025")
    assert warning.key == "mindspeed_rl.actor_rollout_dispatch_size"
    assert warning.line is not None
    twice = check("mindspeed_rl", mindspeed_rl__actor_rollout_dispatch_size=16, actor_rollout_dispatch_size=8)
    assert only(twice, "ARL024").severity == "error"


@pytest.mark.parametrize(
    ("key", "hint"),
    [
        ("trainbackend", "train_backend"),
        ("Rollout-N", "rollout_n"),
        ("tempurature", "temperature"),
        ("verl__train_batchsize", "train_batch_size?"),
        ("verl__kl_loss_coeficient", "kl_loss_coef"),
        ("total_epoch", "total_epochs below `verl:`"),
        ("verl__max_stepss", "max_steps at the top level"),
        ("mindspeed_r1", "mindspeed_rl"),
        ("agent_engine_wraper", "agent_engine_wrapper_path"),
        ("zzz", "remove it"),
    ],
)
def test_unknown_key_is_an_error_with_the_nearest_one(key: str, hint: str, check: Check) -> None:
    result = check("verl", **{key: 1})
    finding = only(result, "ARL020")
    assert finding.severity == "error"
    assert finding.key == key.replace("__", ".")
    assert hint in finding.hint
    assert result.config is None


@pytest.mark.parametrize(
    ("backend", "key", "place"),
    [
        ("verl", "train_batch_size", "`verl:`"),
        ("local", "train_batch_size", "`local:`"),
        ("verl", "seq_len", "`mindspeed_rl:`"),
        ("mindspeed_rl", "train_batch_size", "`verl:` or `local:`"),
        ("verl", "verl__seq_len", "`mindspeed_rl:`"),
        ("verl", "verl__threads", "`local:`"),
        ("verl", "verl__lr", "top level"),
    ],
)
def test_key_at_the_wrong_level_names_its_place(backend: str, key: str, place: str, check: Check) -> None:
    result = check(backend, **{key: 1})
    finding = only(result, "ARL021")
    assert (finding.severity, finding.key) == ("error", key.replace("__", "."))
    assert place in finding.message
    assert result.config is None


def test_value_at_the_wrong_level_is_checked_all_the_same(check: Check) -> None:
    result = check("verl", verl__lr=-1, train_batch_size=0)
    assert {one.key for one in result.findings if one.code == "ARL101"} == {"lr", "verl.train_batch_size"}
    assert {one.key for one in result.findings if one.code == "ARL021"} == {"verl.lr", "train_batch_size"}


def test_layout_of_an_older_version_is_explained_in_one_pass(check_tree: Check) -> None:
    result = check_tree(
        {
            "tokenizer_name_or_path": "/model",
            "data_path": "/data",
            "load_params_path": "/params",
            "save_params_path": "/out",
            "epochs": 1,
            "agent_name": "math",
            "agent_engine_wrapper": "/wrapper.py",
        }
    )
    found = {one.key: one.code for one in result.findings if one.severity == "error"}
    moved = dict.fromkeys(("data_path", "load_params_path", "save_params_path", "epochs"), "ARL021")
    assert found == {**moved, "agent_engine_wrapper": "ARL022", "train_backend": "ARL027"}
    assert only(result, "ARL022").hint == "agent_engine_wrapper_path: /wrapper.py"
    assert result.values["agent_engine_wrapper_path"] == "/wrapper.py"


def test_section_whose_keys_are_not_indented_gets_one_finding(check: Check) -> None:
    result = check(
        "mindspeed_rl", mindspeed_rl=None, data_path="/data", load_params_path="/params", save_params_path="/out"
    )
    (finding,) = [one for one in result.findings if one.severity == "error"]
    assert (finding.code, finding.key) == ("ARL026", "mindspeed_rl")
    assert "indent data_path, load_params_path, save_params_path" in finding.hint
    assert result.values["mindspeed_rl.data_path"] == "/data"


@pytest.mark.parametrize("section", [[{"train_files": "/a"}], "train_files", 3, True])
def test_section_that_is_no_mapping(section: Any, check: Check) -> None:
    result = check("verl", verl=section)
    (finding,) = [one for one in result.findings if one.severity == "error"]
    assert (finding.code, finding.key) == ("ARL026", "verl")
    assert "must be a mapping" in finding.message


def test_missing_section_of_the_chosen_backend(check: Check) -> None:
    finding = only(check("verl", verl=...), "ARL026")
    assert finding.key == "verl"
    assert "add `verl:` with train_files, val_files" in finding.hint
    assert (finding.file, finding.line, finding.column) == ("config.yaml", 1, 1)


def test_section_of_another_backend_in_place_of_the_chosen_one(check: Check) -> None:
    finding = only(check("local", train_backend="verl"), "ARL026")
    assert "or set `train_backend: local`" in finding.hint


def test_empty_section_of_the_chosen_backend(check: Check) -> None:
    finding = only(check("verl", verl=None), "ARL026")
    assert "verl is empty; it needs train_files, val_files" in finding.message


def test_missing_keys_are_found_where_they_belong(check: Check) -> None:
    result = check("verl", tokenizer_name_or_path=..., verl__val_files=...)
    missing = {one.key: one for one in result.findings if one.code == "ARL027"}
    assert list(missing) == ["tokenizer_name_or_path", "verl.val_files"]
    assert "at the top level" in missing["tokenizer_name_or_path"].hint
    assert missing["tokenizer_name_or_path"].line == 1
    section_line = 1 + ["agent_name", "train_backend", "entropy_coeff", "verl"].index("verl")
    assert missing["verl.val_files"].line == section_line
    assert "below `verl:`" in missing["verl.val_files"].hint
    assert "tokenizer_name_or_path" not in result.values
    assert result.config is None


def test_keys_that_only_mindspeed_requires(check: Check) -> None:
    result = check("mindspeed_rl", model_name=..., dataset_additional_keys=None)
    assert {one.key for one in result.findings if one.code == "ARL027"} == {"model_name", "dataset_additional_keys"}
    assert check("verl").config is not None


def test_unknown_agent_is_named_where_it_is_written(check: Check) -> None:
    near = only(check("verl", agent_name="maths"), "ARL027")
    assert near.message.startswith("agent_name 'maths' is not built in (gym, math, search_r1)")
    assert near.hint.startswith("did you mean math? Or name its file: `agent_engine_wrapper_path: ...`")
    far = only(check("verl", lr=1.0e-6, agent_name="mine"), "ARL027")
    assert far.hint == "add `agent_engine_wrapper_path: ...` at the top level"
    # The tree of the fixture has one key a line.
    assert near.line == far.line == only(check("verl", agent_name=False), "ARL030").line


def test_agent_file_is_needed_unless_the_agent_is_built_in(check: Check) -> None:
    assert only(check("verl", agent_name="mine"), "ARL027").key == "agent_engine_wrapper_path"
    assert check("verl", agent_name="mine", agent_engine_wrapper_path="/agent.py").config is not None
    assert check("verl", agent_name="math").config is not None


def test_section_of_another_backend_is_checked_and_noted(check: Check) -> None:
    result = check("verl", mindspeed_rl={"train_iters": 3})
    note = only(result, "ARL028")
    assert (note.severity, note.key) == ("note", "mindspeed_rl")
    assert "data_path, load_params_path, save_params_path would be needed" in note.message
    assert result.config is not None
    assert result.config.mindspeed_rl is None
    assert result.values["mindspeed_rl.train_iters"] == 3
    assert "mindspeed_rl.data_path" not in result.values
    broken = check("verl", mindspeed_rl={"train_iters": 0})
    assert only(broken, "ARL101").key == "mindspeed_rl.train_iters"


def test_whole_section_of_another_backend_is_kept(check: Check) -> None:
    result = check("verl", local={"train_files": "/a", "val_files": "/b", "threads": 2})
    assert result.config is not None
    assert result.config.local is not None
    assert result.config.local.threads == 2


def test_null_section_of_another_backend_says_nothing(check: Check) -> None:
    assert check("verl", local=None).findings == check("verl").findings


def test_keys_that_are_no_text_are_unknown(check_tree: Check) -> None:
    result = check_tree({1: 2, False: 3, None: 4, "\ud800": 5})
    keys = [one.key for one in result.findings if one.code == "ARL020"]
    assert keys == ["1", "false", "null", "\\ud800"]


@pytest.mark.parametrize(
    ("key", "system"), [("actor_rollout_ref", "verl"), ("data", "verl"), ("rl_config", "MindSpeed-RL")]
)
def test_a_section_of_the_backend_itself_is_called_that(key: str, system: str, check: Check) -> None:
    finding = only(check("verl", **{key: {"n": 5}}), "ARL020")
    assert finding.hint.startswith(f"a section of {system}'s own format; write the flat format's keys")


def test_letter_that_only_looks_latin_is_named(check: Check) -> None:
    finding = only(check("verl", rоllout_n=3), "ARL020")
    assert "U+043E CYRILLIC SMALL LETTER O" in finding.message
    assert finding.hint == "did you mean rollout_n?"
