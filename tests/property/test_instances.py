"""No text of the instances format raises, whatever is in it; what is found has a place in the text."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml
from hypothesis import given
from hypothesis import strategies as st

from agentic_rl.config.aura.composition import compose
from agentic_rl.config.aura.composition.references import References
from agentic_rl.config.load import load_document
from agentic_rl.config.source import parse
from aura_trees import SOUND

KEYS = sorted(
    set(re.findall(r"(\w+):", SOUND)) | {"defaults", "hydra", "searchpath", "extras", "work_mode", "rl_framework"}
)
REFERENCES = st.builds(
    lambda dots, parts, tail: "${" + "." * dots + ".".join(parts) + tail,
    st.integers(0, 4),
    st.lists(
        st.sampled_from([*KEYS, "0", "1", "", "[0]", "${verl_conf}", "oc.env:HOME", "oc.select:", "hydra:", ","]),
        max_size=4,
    ),
    st.sampled_from(["}", "", "}}", "}x", "}${}"]),
)
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 70000),
    st.floats(),
    st.text(max_size=8),
    REFERENCES,
    st.sampled_from(
        [
            "verl",
            "direct",
            "serve",
            "???",
            "http://h:80",
            "_self_",
            "ppo_trainer@verl_conf",
            "a/b@",
            "pkg://verl",
            "file://.",
            "megatron",
        ]
    ),
)
VALUES = st.recursive(
    SCALARS,
    lambda below: (
        st.lists(below, max_size=3) | st.dictionaries(st.sampled_from(KEYS) | st.text(max_size=5), below, max_size=4)
    ),
    max_leaves=12,
)


@st.composite
def damaged(draw: st.DrawFn) -> dict[str, Any]:
    """A sound file with other values at some of its keys, sections and items of lists included."""
    tree: dict[str, Any] = yaml.safe_load(SOUND)
    for _ in range(draw(st.integers(1, 4))):
        node: Any = tree
        for _ in range(draw(st.integers(0, 5))):
            choices = list(node) if isinstance(node, dict) else list(range(len(node)))
            chosen = draw(st.sampled_from(choices)) if choices else None
            if chosen is None or not isinstance(node[chosen], (dict, list)):
                break
            node = node[chosen]
        if isinstance(node, list):
            node.append(draw(VALUES))
        else:
            node[draw(st.sampled_from([*node, *KEYS]))] = draw(VALUES)
    return tree


def checked(tree: Any, *overrides: str) -> None:
    text = yaml.safe_dump(tree, allow_unicode=True)
    document = parse(text, "run.yaml")
    loaded = load_document(document, overrides, files=False, environ={"HOME": "/home/me"})
    for finding in loaded.report:
        assert finding.message
        assert finding.line is None or 1 <= finding.line <= len(document.lines)
    loaded.to_dict()
    assert len(loaded.render("text")) > 0
    assert all(one.to_text() for one in loaded.provenance())
    if loaded.report.verdict != "error" and loaded.format == "aura":
        assert loaded.require_aura().given()


@given(damaged())
def test_no_damage_raises(tree: dict[str, Any]) -> None:
    checked(tree)


@given(st.dictionaries(st.sampled_from(["agentic_ai", *KEYS]), VALUES, min_size=1))
def test_no_tree_raises(tree: dict[str, Any]) -> None:
    checked({"agentic_ai": {"mode": "direct"}, **tree})


@given(
    st.lists(
        st.builds(
            lambda parts, value: f"{'.'.join(parts)}={value}",
            st.lists(st.sampled_from([*KEYS, "0", "1", "[0]"]), min_size=1, max_size=4),
            st.text(max_size=6) | REFERENCES,
        ),
        max_size=3,
    )
)
def test_no_override_raises(overrides: list[str]) -> None:
    checked(yaml.safe_load(SOUND), *overrides)


@given(VALUES, VALUES)
def test_no_reference_raises(first: Any, second: Any) -> None:
    tree = {"verl_conf": first, "data": second}
    References(tree, {}).value((), tree)


@given(st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=4), st.lists(VALUES, max_size=3))
def test_no_templates_raise(tree: dict[str, Any], defaults: list[Any]) -> None:
    text = yaml.safe_dump({**tree, "defaults": defaults}, allow_unicode=True)
    composed = compose(parse(text, str(Path("absent") / "run.yaml")), (), {})
    assert all(finding.message for finding in composed.findings)


@given(VALUES)
def test_what_has_no_reference_is_left_as_it_is(value: Any) -> None:
    if "${" not in repr(value):
        assert repr(References({"a": value}, {}).value(("a",), value)) == repr(value)
