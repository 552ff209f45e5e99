"""The schema against the tables of parameters, row by row."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentic_rl.config.fields.shape import shape_of
from agentic_rl.config.flat import LocalSection, Validated, VerlSection
from agentic_rl.config.flat.dead_keys import acts_on
from agentic_rl.config.flat.extensions import OwnKeys, UndocumentedKeys
from agentic_rl.config.flat.mindspeed_rl import UndocumentedMindSpeedKeys
from agentic_rl.config.flat.names import ALIASES, LEVELS, UNDOCUMENTED, dotted, field_of
from agentic_rl.config.flat.reference import Row, row

REPOSITORY = Path(__file__).parents[4]
TABLES = REPOSITORY / "tests" / "data" / "flat"
Check = Callable[..., Validated]


def read(name: str) -> list[dict[str, str]]:
    with (TABLES / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


def level(line: dict[str, str]) -> str:
    return "" if line["section"] == "shared" else line["section"]


def name_of(line: dict[str, str]) -> str:
    return dotted(level(line), line["key"])


PARAMS = read("flat-params.tsv")
UNDOCUMENTED_ROWS = read("flat-undocumented.tsv")
OWN_ROWS = [line for line in read("flat-extensions.tsv") if line["type"]]
(LOCAL_AS_VERL,) = [line for line in read("flat-extensions.tsv") if line["key"] == "(as verl)"]
ALL_ROWS = [*PARAMS, *UNDOCUMENTED_ROWS, *OWN_ROWS]
OUR_WARM_UP = {"sft_files", "sft_steps", "sft_batch_size", "sft_lr", "sft_context_weight"}
OUR_START = {"startup_timeout"}
OUR_CHAT = {"enable_thinking", "tool_parser"}
OUR_TOOLS = {"sandbox", "search", "search_topk"}

rows = pytest.mark.parametrize("line", ALL_ROWS, ids=name_of)
documented = pytest.mark.parametrize("line", PARAMS, ids=name_of)


@pytest.mark.parametrize("name", ["flat-params.tsv", "flat-undocumented.tsv", "flat-extensions.tsv"])
def test_copied_tables_are_the_shared_ones(name: str) -> None:
    shared = REPOSITORY.parent / "shared" / "reference" / name
    if not shared.exists():
        pytest.skip("the shared tables are not beside this checkout")
    assert (TABLES / name).read_text(encoding="utf-8") == shared.read_text(encoding="utf-8")


@rows
def test_type(line: dict[str, str]) -> None:
    said = row(level(line), line["key"]).type
    wanted = line["type"].partition("|")[0]
    assert said.removesuffix(" or null") == ("list[str]" if wanted == "list" else wanted)
    # Null is a value too where only one backend requires the key, and where it is derived when it is not written.
    may_be_null = "null" in line["type"] or line["default"] in ("derived", "required for mindspeed_rl")
    assert said.endswith(" or null") == (may_be_null or line["key"] == "agent_engine_wrapper_path")


@rows
def test_default(line: dict[str, str]) -> None:
    field = field_of(level(line), line["key"])
    text = line["default"]
    if line["key"] == "agent_engine_wrapper_path" or text in ("derived", "null", "required for mindspeed_rl"):
        assert field.default is None  # required by a rule, where the agent is not built in or the backend needs it
    elif text == "required":
        assert field.is_required()
    else:
        assert field.default == parsed(text)
        assert type(field.default) is type(parsed(text)) or line["type"] == "float"


def parsed(text: str) -> Any:
    if text.startswith("["):
        return [item.strip() for item in text[1:-1].split(",")]
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text


@documented
def test_backends_with_an_effect(line: dict[str, str]) -> None:
    backends = set(line["acts_on"].split(",")) if line["acts_on"] else set()
    wanted = {"verl", "mindspeed_rl"} if "all" in backends else backends - {"local"}
    if name_of(line) == "verl.balance_batch":
        assert "not read" in line["note"]
        wanted = set()
    assert set(acts_on(name_of(line))) - {"local"} == wanted
    if backends == {"mindspeed_rl"}:
        assert "local" not in acts_on(name_of(line))


CHOICES = [line for line in PARAMS if " | " in line["constraint"]]


@pytest.mark.parametrize("line", CHOICES, ids=name_of)
def test_choices(line: dict[str, str], check: Check) -> None:
    choices = line["constraint"].partition(";")[0].split(" | ")
    extra = ["local"] if line["key"] == "train_backend" else []
    assert list(shape_of(field_of(level(line), line["key"])).choices) == choices + extra
    result = check(level(line) or "verl", **{name_of(line).replace(".", "__"): choices[-1] + "x"})
    (refusal,) = [one for one in result.findings if one.code == "ARL102"]
    assert refusal.key == name_of(line)
    assert choices[-1] in refusal.hint


def edges(constraint: str, type_: str) -> tuple[list[Any], list[Any]]:
    """Values just inside a constraint as the table writes it, and values just outside."""
    step: Any = 1 if type_.startswith("int") else 1e-9
    first = constraint.partition(";")[0].removesuffix(" seconds").strip()
    if first == "-1 or >0":
        return [-1, 1], [0, -2]
    if first in (">0", "null or >0"):
        return [step], [0, -step]
    if first in (">=0", ">=1"):
        low = int(first[-1])
        return [low], [low - step]
    low_text, high_text = re.fullmatch(r"[\[(](\S+), (\S+)\]", first).groups()  # type: ignore[union-attr]
    low, high = json.loads(low_text), json.loads(high_text)
    if first.startswith("("):
        return [low + step, high], [low, high + step]
    return [low, high], [low - step, high + step]


RANGED = [
    (line, accepted, value)
    for line in ALL_ROWS
    if re.match(r"(-1 or |null or )?>|[\[(]", line.get("constraint", ""))
    for accepted, values in zip((True, False), edges(line["constraint"], line["type"]), strict=True)
    for value in values
]


@pytest.mark.parametrize(
    ("line", "accepted", "value"), RANGED, ids=[f"{name_of(one)}={value}" for one, _, value in RANGED]
)
def test_edges(line: dict[str, str], accepted: bool, value: Any, check: Check) -> None:
    section = level(line)
    key = name_of(line)
    result = check(section or "verl", **{key.replace(".", "__"): value})
    refusals = [one for one in result.findings if one.key == key and one.code in ("ARL101", "ARL105")]
    if key == "min_p" and value == 0:
        (warning,) = [one for one in result.findings if one.key == "min_p"]
        assert (warning.code, warning.severity) == ("ARL111", "warning")
        return
    assert bool(refusals) != accepted
    assert (key in result.values) == accepted
    for refusal in refusals:
        assert refusal.hint


def test_nothing_else_is_in_the_schema() -> None:
    tabled = {name_of(line) for line in ALL_ROWS}
    local = {dotted("local", name) for name in (*local_keys(), *OUR_WARM_UP)}
    verl = {dotted("verl", name) for name in OUR_START}
    assert {dotted(section, name) for section, names in LEVELS.items() for name in names} == (
        tabled | local | verl | OUR_CHAT | OUR_TOOLS
    )


def local_keys() -> list[str]:
    """The keys that the table gives to `local` by listing keys of `verl`."""
    listed = re.sub(r"\([^)]*\)", "", LOCAL_AS_VERL["note"]).partition(":")[0]
    group = [name for name in VerlSection.model_fields if re.match("policy_loss_(clip|kl|ppo)", name)]
    names = re.findall(
        r"[a-z_]{3,}", listed.replace("policy_loss_model and its policy_loss_* keys", "policy_loss_model")
    )
    return [*names, *group]


def test_local_has_the_listed_keys_of_verl_unchanged() -> None:
    assert set(LocalSection.model_fields) == {*local_keys(), *OUR_WARM_UP, "threads"}
    for name in local_keys():
        assert shape_of(field_of("local", name)) == shape_of(field_of("verl", name))
        assert repr(field_of("local", name)) == repr(field_of("verl", name))


def test_aliases_of_the_table_are_known() -> None:
    for line in PARAMS:
        if line["aliases"]:
            assert ALIASES[dotted(level(line), line["aliases"])] == name_of(line)


def test_undocumented_and_own_keys_are_marked_as_such() -> None:
    assert {name_of(line) for line in UNDOCUMENTED_ROWS} == UNDOCUMENTED
    own = {line["key"] for line in OWN_ROWS if line["section"] == "shared"}
    assert own | OUR_CHAT | OUR_TOOLS == set(OwnKeys.model_fields)
    assert not set(UndocumentedKeys.model_fields) & set(UndocumentedMindSpeedKeys.model_fields)


def test_paths_are_secure_paths() -> None:
    for line in PARAMS:
        shape = shape_of(field_of(level(line), line["key"]))
        assert (shape.path is not None) == line["constraint"].startswith("secure path")


def test_every_key_has_a_description() -> None:
    lines: list[Row] = [row(section, name) for section, names in LEVELS.items() for name in names]
    assert all(len(line.description) > 12 and line.description.endswith((".", ".)")) for line in lines)
