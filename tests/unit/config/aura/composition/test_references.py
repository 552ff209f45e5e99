from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agentic_rl.config.aura.composition.reference_text import BadReferenceError, Reference, parse
from agentic_rl.config.aura.composition.references import References, dotted, too_large

TREE: dict[str, Any] = {
    "agents": [{"name": "MATH", "limits": {"steps": 5}}, {"name": "CODE"}],
    "conf": {"lr": 1e-6, "model": {"path": "/models/qwen", "same": "${..lr}", "up": "${...agents.1.name}"}},
    "none": None,
}


def resolved(value: Any, **environ: str) -> Any:
    """What a value below the key `here` resolves to."""
    tree = {**TREE, "here": {"value": value, "beside": 7}}
    references = References(tree, environ)
    result = references.value(("here",), tree["here"])
    assert references.unresolved == []
    return result["value"]


def refused(value: Any, **tree: Any) -> tuple[str, str, str]:
    """Key, message and remedy of the only reference that gives no value."""
    whole = {**TREE, "here": value, **tree}
    references = References(whole, {})
    references.value((), whole)
    (one,) = references.unresolved
    return dotted(one.path), one.message, one.hint


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("${agents.0.name}", "MATH"),
        ("${agents[1].name}", "CODE"),
        ("${agents.0.limits}", {"steps": 5}),
        ("${.beside}", 7),
        ("${..conf.lr}", 1e-6),
        ("${conf.model.same}", 1e-6),
        ("${conf.model.up}", "CODE"),
        ("${conf.model}", {"path": "/models/qwen", "same": 1e-6, "up": "CODE"}),
        ("${none}", None),
        ("run-${agents.0.name}-${.beside}", "run-MATH-7"),
        ("\\${agents}", "${agents}"),
        ("${agents.${oc.env:NUMBER}.name}", "CODE"),
        ("${oc.env:NUMBER}", "1"),
        ("${oc.env:ABSENT,5}", 5),
        ("${oc.env:ABSENT,${conf.lr}}", 1e-6),
        ("${oc.select:conf.lr,3}", 1e-6),
        ("${oc.select:conf.absent,3}", 3),
        ("${oc.select:conf.absent}", None),
        ("${oc.select:conf.absent,{}}", {}),
        ("${oc.select:conf.absent,[1,2]}", [1, 2]),
        ("no reference: $HOME {x}", "no reference: $HOME {x}"),
        ([{"deep": "${conf.lr}"}], [{"deep": 1e-6}]),
    ],
)
def test_what_references_give(text: Any, value: Any) -> None:
    assert resolved(text, NUMBER="1") == value


def test_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert resolved("${hydra:runtime.cwd}/out") == f"{tmp_path}/out"


def test_the_time() -> None:
    assert resolved("${now:%Y}").isdigit()


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("${agents.0.nam}", "${agents.0.nam}: agents[0] has no key nam; it has name, limits", "${agents.0.name}"),
        (
            "${agents.2.name}",
            "${agents.2.name}: agents has 2 items, and none is 2",
            "${agents.0...}, items count from 0",
        ),
        ("${conf.lr.x}", "${conf.lr.x}: conf.lr is one value, so that it has no x", "refer to conf.lr"),
        ("${none.x}", "${none.x}: none is empty, so that it has no x", "refer to none"),
        ("${here}", "${here} refers to itself: here -> here", "write the value in one of the places"),
        ("${...x}", "${...x} leads out of the file: it stands 1 levels deep", "use fewer dots"),
        ("${}", "${} names no key", "write ${section.key}"),
        ("${a..b}", "${a..b} names no key", "write ${section.key}"),
        ("a ${conf.lr", "'a ${conf.lr': a ${ without its }", "close the brace, or write \\${ for the text"),
        ("a ${agents}", "${agents} is a list, which can't stand within text", "refer to one of its values"),
        (
            "${oc.env:ABSENT}",
            "${oc.env:ABSENT}: the environment has no variable ABSENT",
            "export ABSENT=..., or a default: ${oc.env:ABSENT,VALUE}",
        ),
        (
            "${hydra:job.name}",
            "${hydra:job.name}: of Hydra's own values, only runtime.cwd is known here",
            "${hydra:runtime.cwd}, or the value itself",
        ),
        (
            "${eval:1}",
            "${eval:1}: eval: is not known; known are oc.env, oc.select, hydra, now",
            "write the value itself",
        ),
    ],
)
def test_what_gives_no_value(text: str, message: str, hint: str) -> None:
    assert refused(text) == ("here", message, hint)


def test_what_refers_to_a_broken_reference_is_left_out_without_a_word() -> None:
    tree = {"a": "${absent}", "b": "${a}", "c": {"d": "${b}", "e": 1}, "f": ["${a}", 2]}
    references = References(tree, {})
    assert references.value((), tree) == {"c": {"e": 1}, "f": [None, 2]}
    assert [dotted(one.path) for one in references.unresolved] == ["a"]


def test_a_circle_is_told_once() -> None:
    key, message, _ = refused(1, a="${b}", b="${c.d}", c={"d": "${a}"})
    assert (key, message) == ("a", "${b} refers to itself: a -> b -> c.d -> a")


def test_a_long_chain_is_refused_and_not_python() -> None:
    chain = {f"k{number}": f"${{k{number + 1}}}" for number in range(500)}
    references = References({**chain, "k500": 1}, {})
    references.value((), {**chain, "k500": 1})
    assert {one.message.partition(": ")[2] for one in references.unresolved} == {
        "too many references follow each other"
    }


def test_a_tree_that_doubles_with_each_level_is_noticed() -> None:
    tree: dict[str, Any] = {f"k{n}": [f"${{k{n + 1}}}", f"${{k{n + 1}}}"] for n in range(25)}
    value = References({**tree, "k25": 1}, {}).value((), {**tree, "k25": 1})
    assert too_large(value)


def test_a_text_that_doubles_with_each_level_is_refused() -> None:
    tree: dict[str, Any] = {f"k{n}": f"${{k{n + 1}}}${{k{n + 1}}}" for n in range(25)}
    assert "characters" in refused(1, **tree, k25="text")[1]


def test_the_home_of_a_reference_comes_first() -> None:
    tree = {"lr": 1, "conf": {"lr": 2, "near": "${lr}", "far": "${top}"}, "top": 3}
    references = References(tree, {}, lambda path: "conf")
    assert references.value(("conf",), tree["conf"]) == {"lr": 2, "near": 2, "far": 3}


def test_parts_of_a_text() -> None:
    inner = Reference(("b",))
    assert parse("x${a.${b}.c}y") == ["x", Reference(("a.", inner, ".c")), "y"]
    assert str(parse("${a.${b}.c}")[0]) == "${a.${b}.c}"
    with pytest.raises(BadReferenceError, match="in each other"):
        parse("${" * 30)
