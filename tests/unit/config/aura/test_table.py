"""The schema of the instances format against the table of its documented keys, row by row."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path
from typing import Any

import pytest
from pydantic.fields import FieldInfo

from agentic_rl.config.aura.reading import field_at
from agentic_rl.config.fields.shape import shape_of
from aura_trees import REMOVED, checked, composed, told
from aura_trees import SOUND as SOUND_TEXT

REPOSITORY = Path(__file__).parents[4]
TABLE = REPOSITORY / "tests" / "data" / "aura" / "aura-params.tsv"
SHARED = REPOSITORY.parent / "shared" / "reference" / "aura-params.tsv"
CONDITIONAL = {
    "verl_conf.data.train_files",
    "verl_conf.data.val_files",
    "verl_conf.actor_rollout_ref.model.path",
    "train_instances[].executor_kwargs.train_config",
    "infer_instances[].executor_kwargs.engine_kwargs.chat_server",
    "infer_instances[].executor_kwargs.engine_kwargs.model_name",
}
"""Keys that are required only with another one, by a rule."""


def rows() -> list[dict[str, str]]:
    with TABLE.open(encoding="utf-8", newline="") as file:
        lines = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        return [line for line in lines if line["file"] == "yaml"]


ROWS = rows()
every_row = pytest.mark.parametrize("line", ROWS, ids=lambda line: line["key"])


def test_the_copied_table_is_the_shared_one() -> None:
    if not SHARED.exists():
        pytest.skip("the shared tables are not beside this checkout")
    assert TABLE.read_text(encoding="utf-8") == SHARED.read_text(encoding="utf-8")


def field(line: dict[str, str]) -> FieldInfo:
    found = field_at(tuple(line["key"].replace("[]", "").split(".")))
    assert found is not None, f"{line['key']} is not in the schema"
    return found


def key_of(line: dict[str, str]) -> str:
    return line["key"].replace("[]", "[0]")


def parsed(text: str) -> Any:
    if text.startswith("[") and text != "[]":
        return [item.strip() for item in text[1:-1].split(",")]
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text


@every_row
def test_default(line: dict[str, str]) -> None:
    text = line["default"]
    if line["key"] in CONDITIONAL or text == "":
        assert field(line).default is None
    elif text == "required":
        assert field(line).is_required()
    else:
        assert field(line).default == parsed(text)


@every_row
def test_a_key_that_nobody_writes_has_its_documented_default(line: dict[str, str]) -> None:
    if line["default"].startswith("required") or line["default"] == "":
        pytest.skip("it has no default")
    section = line["key"].rpartition(".")[0].replace("[]", "[0]")
    changes = {} if section in ("", "serve_conf", "direct_conf") else {f"{section}.of_nobody": 0}
    changes |= {"serve_conf": {}} if section == "serve_conf" else {}
    tree = composed(SOUND_TEXT, changes).tree
    written = tree
    for part in re.findall(r"[^.\[\]]+", key_of(line)):
        written = written[int(part)] if isinstance(written, list) else written.get(part, REMOVED)
        if written is REMOVED:
            break
    removed = changes if written is REMOVED else {**changes, key_of(line): REMOVED}
    assert checked(removed).values[key_of(line)] == parsed(line["default"])


def accepted(line: dict[str, str]) -> list[Any]:
    """Values at the edges of what the row says."""
    if line["key"] == "verl_conf.data.truncation":
        return ["error"]
    constraint = line["constraint"]
    choices = re.fullmatch(r"[\w.]+( \| [\w.]+)+", constraint)
    if choices:
        return constraint.split(" | ")
    number = float if line["type"] == "float" else int
    edges = {
        ">0": [number(1), 1e-9 if line["type"] == "float" else 2**62],
        ">=0": [number(0), number(7)],
        "[0, 1]": [0.0, 1.0, 1],
        "(0, 1]": [1e-9, 1.0],
        "-1 or >0": [-1, 1],
        "1..65535": [1, 65535],
    }
    by_type: dict[str, list[Any]] = {"bool": [True, False], "dict": [{}, {"any": 1}], "int": [1], "float": [0.5]}
    return edges.get(constraint, by_type.get(line["type"], []))


def refused(line: dict[str, str]) -> list[Any]:
    """Values one beyond the edges, and of another type."""
    if line["key"] == "verl_conf.data.truncation":
        return ["middel", 3]
    constraint = line["constraint"]
    if re.fullmatch(r"[\w.]+( \| [\w.]+)+", constraint):
        return [constraint.rpartition(" ")[2] + "x", 3, None]
    beyond = {
        ">0": [0, -1],
        ">=0": [-1],
        "[0, 1]": [-1e-9, 1.000001],
        "(0, 1]": [0, 1.000001],
        "-1 or >0": [0, -2],
        "1..65535": [0, 65536],
    }
    by_type: dict[str, list[Any]] = {
        "bool": ["true", 1, None],
        "int": ["7", 1.5, True, None],
        "float": ["1e-6", True, float("nan"), None],
        "dict": [3, "text", []],
        "list": [{}, 7],
        "str": [7, True, {}],
        "str|list[str]": [7, {}],
    }
    return [*beyond.get(constraint, []), *by_type[line["type"]]]


def errors_at(line: dict[str, str], value: Any) -> list[str]:
    key = key_of(line)
    return [one for one in told({key: value}) if one.startswith("error") and one.endswith(f" {key}")]


@every_row
def test_edges_are_accepted(line: dict[str, str]) -> None:
    for value in accepted(line):
        assert not [one for one in errors_at(line, value) if re.search("ARL(0|1)", one)], value


@every_row
def test_one_beyond_is_refused(line: dict[str, str]) -> None:
    for value in refused(line):
        if line["key"].endswith("kl_ctrl.kl_coef") and value == 0:
            assert told({key_of(line): value}) == [f"warning ARL296 {key_of(line)}"]
        else:
            assert errors_at(line, value), value


@every_row
def test_what_is_required_is_missed(line: dict[str, str]) -> None:
    if not line["default"].startswith("required"):
        pytest.skip("it is not required")
    assert f"error ARL027 {key_of(line)}" in told({key_of(line): REMOVED})


@every_row
def test_what_is_refused_leaves_the_rest_to_be_checked(line: dict[str, str]) -> None:
    later = "infer_instances[0].executor_num"
    if line["key"] == "infer_instances[].executor_num":
        later = "agent_instances[0].executor_num"
    findings = told({key_of(line): refused(line)[0], later: -5})
    assert f"error ARL101 {later}" in findings


def test_documentation_is_there_for_every_field() -> None:
    for line in ROWS:
        assert shape_of(field(line)).rule
