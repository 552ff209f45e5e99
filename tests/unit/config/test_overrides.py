"""Overrides: precedence, syntax, and findings that name the argument or the variable."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from agentic_rl.config.diagnostics import COMMAND_LINE, ENVIRONMENT, Finding
from agentic_rl.config.overrides import Overridden, override, present

FILE: dict[str, Any] = {"lr": 1.0, "agent_name": "math", "verl": {"nnodes": 1, "parts": ["a"]}, "empty": None}


def set_in_file(*arguments: str, **environ: str) -> Overridden:
    return override(FILE, arguments, environ)


def only_finding(*arguments: str, **environ: str) -> Finding:
    overridden = set_in_file(*arguments, **environ)
    (finding,) = overridden.findings
    assert finding.severity == "error"
    assert finding.hint
    assert (finding.line, finding.column) == (None, None)
    return finding


def test_without_overrides_the_file_stands_as_it_is() -> None:
    overridden = set_in_file(PATH="/bin", AGENTIC_RL_LR="3")
    assert overridden.tree is FILE
    assert overridden.overrides == {}
    assert not present((), {"PATH": "/bin", "AGENTIC_RL_LR": "3"})


def test_the_command_line_wins_over_the_environment_and_both_over_the_file() -> None:
    overridden = set_in_file(
        "lr=1e-5", "verl.total=[1, 2]", AGENTIC_RL__LR="7", AGENTIC_RL__VERL__NNODES="2", AGENTIC_RL__EMPTY__X="yes"
    )
    assert overridden.findings == []
    assert overridden.tree == {
        "lr": 1e-5,
        "agent_name": "math",
        "verl": {"nnodes": 2, "parts": ["a"], "total": [1, 2]},
        "empty": {"x": True},
    }
    assert {key: one.source for key, one in overridden.overrides.items()} == {
        "lr": COMMAND_LINE,
        "verl.total": COMMAND_LINE,
        "verl.nnodes": ENVIRONMENT,
        "empty.x": ENVIRONMENT,
        "empty": ENVIRONMENT,
    }


def test_the_file_is_not_changed() -> None:
    before = repr(FILE)
    set_in_file("verl.nnodes=5", "verl.new=1")
    assert repr(FILE) == before


def test_a_list_is_replaced_not_extended() -> None:
    assert set_in_file("verl.parts=[b, c]").tree["verl"]["parts"] == ["b", "c"]


def test_values_are_read_as_in_the_file() -> None:
    tree = set_in_file("a=1e-6", "b=off", "c='16'", "d=", "e=run #1", "f=x=y", "g=[]").tree
    assert {key: tree[key] for key in "abcdefg"} == {
        "a": 1e-6,
        "b": False,
        "c": "16",
        "d": None,
        "e": "run #1",
        "f": "x=y",
        "g": [],
    }


def test_a_new_section_is_made() -> None:
    assert set_in_file("local.deep.x=1").tree["local"] == {"deep": {"x": 1}}


def test_an_override_wins_over_another_spelling_of_its_key() -> None:
    names = {"verl.coef": "verl.coeff"}

    def set_both(tree: dict[str, Any], *arguments: str, **environ: str) -> dict[str, Any]:
        return override(tree, arguments, environ, lambda key: names.get(key, key)).tree

    assert set_both({"verl": {"coeff": 1, "x": 2}}, "verl.coef=3") == {"verl": {"coef": 3, "x": 2}}
    assert set_both({"verl": {"coef": 1}}, "verl.coeff=3") == {"verl": {"coeff": 3}}
    assert set_both({}, "verl.coef=3", AGENTIC_RL__VERL__COEFF="4") == {"verl": {"coef": 3}}
    twice = override({}, ("verl.coef=3", "verl.coeff=4"), {}, lambda key: names.get(key, key)).findings
    assert [finding.message for finding in twice] == ["set twice: verl.coef=3 and verl.coeff=4"]


@pytest.mark.parametrize(
    ("argument", "message", "hint"),
    [
        ("lr", "'lr' has no = in it", "write key=value, e.g. lr=1e-5"),
        ("=3", "'=3' has no key before the =", "write key=value, e.g. lr=1e-5"),
        ("", "'' has no = in it", "write key=value, e.g. lr=1e-5"),
        ("+lr=3", "'+lr' is not a key", "write lr=3"),
        ("--lr=3", "'--lr' is not a key", "write lr=3"),
        ("verl..lr=3", "'verl..lr' is not a key", "a key is letters, digits and underscores"),
        ("verl.parts[0]=x", "'verl.parts[0]' is not a key", "write verl.parts=[item, item] for the whole list"),
        ("a b=3", "'a b' is not a key", "a key is letters, digits and underscores"),
    ],
)
def test_what_is_no_override(argument: str, message: str, hint: str) -> None:
    finding = only_finding(argument)
    assert (finding.code, finding.file, finding.key) == ("ARL012", COMMAND_LINE, "")
    assert finding.message == message
    assert finding.hint.startswith(hint)


@pytest.mark.parametrize("name", ["AGENTIC_RL__", "AGENTIC_RL__VERL__", "AGENTIC_RL____LR", "AGENTIC_RL__A-B.C D"])
def test_a_variable_that_names_no_key(name: str) -> None:
    finding = only_finding(**{name: "1"})
    assert (finding.code, finding.file) == ("ARL012", ENVIRONMENT)
    assert finding.message == f"the variable {name} names no key"


def test_values_that_can_not_be_read() -> None:
    finding = only_finding("lr=010")
    assert (finding.code, finding.key) == ("ARL012", "lr")
    assert "octal" in finding.message
    finding = only_finding(AGENTIC_RL__VERL__PARTS="[a")
    assert (finding.file, finding.key) == (ENVIRONMENT, "verl.parts")
    assert finding.message.endswith("(set by AGENTIC_RL__VERL__PARTS)")
    assert "is a section" in only_finding("new={a: 1}").message


def test_a_key_is_set_once_per_place() -> None:
    finding = only_finding("lr=1", "lr=2")
    assert (finding.key, finding.message) == ("lr", "set twice: lr=1 and lr=2")
    finding = only_finding(AGENTIC_RL__LR="1", AGENTIC_RL__lr="2")
    assert (finding.file, finding.message) == (ENVIRONMENT, "set twice: AGENTIC_RL__LR and AGENTIC_RL__lr")


def test_the_same_value_may_be_given_twice() -> None:
    overridden = override({}, ("lr=1e-5", "lr=1.0e-5"), {"AGENTIC_RL__A": "x", "AGENTIC_RL__a": "x"})
    assert overridden.findings == []
    assert overridden.tree == {"lr": 1e-5, "a": "x"}
    assert only_finding("lr=1", "lr=true").message == "set twice: lr=1 and lr=true"


def test_a_section_is_not_one_value() -> None:
    finding = only_finding("verl=3")
    assert (finding.code, finding.key) == ("ARL013", "verl")
    assert finding.message == "a section, which the override verl=3 sets to one value"
    assert finding.hint == "set its keys one by one, e.g. verl.KEY=VALUE"
    assert set_in_file("verl=3").tree["verl"] == FILE["verl"]
    assert only_finding(AGENTIC_RL__VERL="3").message == "a section, which AGENTIC_RL__VERL sets to one value"
    assert only_finding("new=3", "new.x=1").hint == "set its keys one by one, e.g. new.x=VALUE"


def test_a_value_has_no_keys_below_it() -> None:
    finding = only_finding("lr.x.y=3")
    assert (finding.code, finding.key) == ("ARL013", "lr.x.y")
    assert finding.message == "lr holds a value, so the override lr.x.y=3 can't set a key below it"
    assert set_in_file("lr.x.y=3").tree["lr"] == 1.0


def test_the_two_places_may_not_contradict_each_other_about_sections() -> None:
    assert "can't both hold" in only_finding("new=3", AGENTIC_RL__NEW__X="1").message
    assert "can't both hold" in only_finding("new.x=3", AGENTIC_RL__NEW="1").message


def test_all_findings_come_at_once() -> None:
    overridden = set_in_file("x", "lr=1", "lr=2", "verl=3", AGENTIC_RL__="1")
    assert len(overridden.findings) == 4


@pytest.mark.parametrize(("argument", "loaded"), [("()", False), ("('lr=1',)", True)])
def test_pydantic_settings_is_imported_only_when_there_is_an_override(argument: str, loaded: bool) -> None:
    code = (
        "import sys; from agentic_rl.config.overrides import override; "
        f"override({{}}, {argument}, {{}}); print('pydantic_settings' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(loaded)
