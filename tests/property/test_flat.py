"""Any value for any key gives findings, never an exception; what was accepted stays accepted."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from agentic_rl.config.diagnostics import Place
from agentic_rl.config.fields.shape import Shape, shape_of
from agentic_rl.config.flat import FlatConfig, validate
from agentic_rl.config.flat.names import ALIASES, LEVELS, MOVED, OLD_NAMES, SECTIONS, dotted, field_of
from agentic_rl.config.types import LARGEST

KEYS = [
    *(dotted(level, name) for level, names in LEVELS.items() for name in names),
    *ALIASES,
    *MOVED,
    *OLD_NAMES,
    *SECTIONS,
]
PLAIN = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(exclude_categories=()))
    | st.sampled_from(["None", "False", "8", "1e-6", "local", "verl", "mindspeed_rl", "low_bar_kl"])
    | st.sampled_from([400, 5000]).map(lambda digits: 10**digits)
    | st.dates()
    | st.binary(max_size=5)
)
ANYTHING = st.recursive(PLAIN, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(PLAIN, inner, max_size=3))
BASE: dict[str, Any] = {"tokenizer_name_or_path": "/model", "agent_name": "math"}
SECTION_BASE: dict[str, dict[str, Any]] = {
    "verl": {"train_files": "/train", "val_files": "/test"},
    "local": {"train_files": "/train", "val_files": "/test"},
    "mindspeed_rl": {"data_path": "/data", "load_params_path": "/params", "save_params_path": "/out"},
}


def place_of(key: str) -> Place | None:
    return Place("config.yaml", 1, 1) if key in KEYS else None


def nested(flat: dict[str, Any]) -> dict[Any, Any]:
    tree: dict[Any, Any] = {}
    for key, value in flat.items():
        section, _, name = key.rpartition(".")
        level = tree.setdefault(section, {}) if section else tree
        if isinstance(level, dict):
            level[name] = value
    return tree


@given(st.dictionaries(st.sampled_from(KEYS) | st.text(max_size=12), ANYTHING, max_size=8), st.booleans())
def test_any_value_for_any_key_gives_findings(changes: dict[str, Any], whole: bool) -> None:
    base: dict[str, Any] = {**BASE, "train_backend": "local"} if whole else {}
    tree = {**base, **nested(changes)}
    if whole and isinstance(tree.setdefault("local", {}), dict):
        tree["local"] = {**SECTION_BASE["local"], **tree["local"]}
    result = validate(tree, place_of)
    broken = {one.key.partition("[")[0] for one in result.findings if one.code in ("ARL030", "ARL101", "ARL102")}
    assert not broken & set(result.values)
    if result.config is not None:
        assert all(one.code >= "ARL110" for one in result.findings if one.severity == "error")
    for one in result.findings:
        assert one.message
        f"{one.key} {one.message} {one.hint}".encode()
        assert len(one.message) < 1000


@given(st.dictionaries(ANYTHING.filter(lambda value: not isinstance(value, (list, dict))), ANYTHING, max_size=5))
def test_any_tree_gives_findings(tree: dict[Any, Any]) -> None:
    assert validate(tree, place_of).findings


def valid(shape: Shape, name: str) -> st.SearchStrategy[Any]:
    """Values that a field accepts."""
    low = shape.ge if shape.ge is not None else shape.gt
    values: st.SearchStrategy[Any]
    if shape.kind == "int":
        top = LARGEST if shape.le is None else int(shape.le)
        values = st.integers(int(shape.ge or 0) if shape.gt is None else int(shape.gt) + 1, top)
    elif shape.kind == "float":
        values = st.floats(low, shape.le, exclude_min=shape.gt is not None, allow_nan=False, allow_infinity=False)
    elif shape.kind == "bool":
        values = st.booleans()
    elif shape.kind == "list":
        values = st.lists(st.sampled_from(shape.choices or ("problem", "answer")), min_size=1, unique=True)
    elif shape.kind == "choice":
        values = st.sampled_from(shape.choices)
    else:
        values = st.from_regex(r"\A[a-z][a-z0-9]{0,9}\Z") if name != "model_name" else st.just("qwen3-8b")
    if name == "test_freq":
        values = st.just(-1) | st.integers(1, LARGEST)
    return st.none() | values if shape.optional else values


@st.composite
def configurations(draw: st.DrawFn) -> dict[str, Any]:
    """Trees in which every value is valid by itself; relations may be broken."""
    backend = draw(st.sampled_from(list(SECTIONS)))
    tree: dict[str, Any] = {**BASE, "train_backend": backend, "dataset_additional_keys": ["problem"]}
    tree["model_name"] = "qwen3-8b"
    tree["agent_engine_wrapper_path"] = "/agent.py"
    for section in {backend, draw(st.sampled_from(list(SECTIONS)))}:
        tree[section] = {**SECTION_BASE[section]}
    kept = ("train_backend", "dataset_additional_keys", "model_name", "agent_engine_wrapper_path")
    for level, names in LEVELS.items():
        target = tree.get(level) if level else tree
        if target is None:
            continue
        for name in draw(st.lists(st.sampled_from(sorted(set(names) - set(kept))), max_size=10, unique=True)):
            target[name] = draw(valid(shape_of(field_of(level, name)), name))
    return tree


@given(configurations())
def test_dump_of_a_configuration_is_that_configuration(tree: dict[str, Any]) -> None:
    config = validate(tree, place_of).config
    assert isinstance(config, FlatConfig)
    for dump in (config.model_dump(), config.model_dump(exclude_unset=True), config.model_dump(mode="json")):
        assert validate(dump, place_of).config == config


@given(configurations())
def test_values_are_the_fields_of_the_configuration(tree: dict[str, Any]) -> None:
    result = validate(tree, place_of)
    for key, value in result.values.items():
        section, _, name = key.rpartition(".")
        level: BaseModel | None = getattr(result.config, section) if section else result.config
        assert getattr(level, name) == value
