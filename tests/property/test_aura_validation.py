"""Whatever stands in a file of the instances format, validation gives findings and never an exception."""

from __future__ import annotations

from typing import Any

import yaml
from hypothesis import given
from hypothesis import strategies as st

from agentic_rl.config.aura.files import look_at_files
from agentic_rl.config.aura.validation import validate
from aura_trees import SOUND, PlainTree, composed

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=8),
    st.sampled_from(["???", "${verl_conf}", "/gone", "0", "http://[", 2**63, -1, float("nan")]),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4) | st.integers(), inner, max_size=3),
    max_leaves=5,
)


def nodes(tree: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    below = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    return [path, *(one for key, value in below for one in nodes(value, (*path, key)))]


PATHS = nodes(yaml.safe_load(SOUND))[1:]


def replaced(tree: Any, path: tuple[Any, ...], value: Any) -> Any:
    if not path:
        return value
    if isinstance(tree, list):
        return [replaced(one, path[1:], value) if index == path[0] else one for index, one in enumerate(tree)]
    if not isinstance(tree, dict):
        return tree
    return {name: replaced(one, path[1:], value) if name == path[0] else one for name, one in tree.items()}


@given(st.lists(st.tuples(st.sampled_from(PATHS), VALUES), min_size=1, max_size=3))
def test_no_value_is_an_exception(changes: list[tuple[tuple[Any, ...], Any]]) -> None:
    tree: PlainTree = composed(SOUND)
    for path, value in changes:
        tree.tree = replaced(tree.tree, path, value)
    validated = validate(tree)
    assert all(one.message and one.code for one in [*validated.findings, *look_at_files(validated, tree, {}).findings])


@given(st.dictionaries(st.sampled_from(["agentic_ai", "verl_conf", "train_instances", "infer_instances", "x"]), VALUES))
def test_no_tree_is_an_exception(values: dict[str, Any]) -> None:
    tree = composed("{}")
    tree.tree = values
    tree.written = set(values)
    assert any(one.severity == "error" for one in validate(tree).findings)
