"""Reading YAML: values, places, and a finding for everything that is wrong with a text."""

from __future__ import annotations

import math
from typing import Any

import pytest
import yaml

from agentic_rl.config.diagnostics import Place
from agentic_rl.config.source import Document, ValueTextError, nodes, parse, scalar

LOADERS = [yaml.SafeLoader, pytest.param(nodes.Loader, id="fastest")]


def told(document: Document) -> list[tuple[str, str, int | None, int | None]]:
    return [(finding.code, finding.key, finding.line, finding.column) for finding in document.findings]


def only_message(text: str | bytes) -> str:
    (finding,) = parse(text, "f.yaml").findings
    assert finding.severity == "error"
    assert finding.file == "f.yaml"
    assert finding.hint
    return finding.message


def test_values_and_places_of_a_configuration() -> None:
    document = parse("lr: 1e-6\nverl:\n  train_batch_size: 32\n  ckpt: [a, b]\nlist:\n- x\n- y: 1\n", "f.yaml")
    assert document.findings == []
    assert document.whole
    assert document.tree == {
        "lr": 1e-6,
        "verl": {"train_batch_size": 32, "ckpt": ["a", "b"]},
        "list": ["x", {"y": 1}],
    }
    assert {key: (place.line, place.column) for key, place in document.places.items()} == {
        "lr": (1, 1),
        "verl": (2, 1),
        "verl.train_batch_size": (3, 3),
        "verl.ckpt": (4, 3),
        "verl.ckpt[0]": (4, 10),
        "verl.ckpt[1]": (4, 13),
        "list": (5, 1),
        "list[0]": (6, 3),
        "list[1]": (7, 3),
        "list[1].y": (7, 3),
    }
    assert document.places["lr"] == Place("f.yaml", 1, 1)
    assert document.lines[0] == "lr: 1e-6"


def test_quoted_text_stays_text() -> None:
    assert parse("a: 'False'\nb: \"1e-6\"\nc: '010'\nd: |\n  1\n", "f").tree == {
        "a": "False",
        "b": "1e-6",
        "c": "010",
        "d": "1\n",
    }


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("loader", LOADERS)
def test_line_ends_and_byte_order_marks_change_nothing(
    newline: str, mark: str, loader: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nodes, "Loader", loader)
    text = f"{mark}a: 1{newline}é: x{newline}b:{newline}  c: 2{newline}"
    for form in (text, text.encode()):
        document = parse(form, "f")
        assert document.findings == []
        assert document.tree == {"a": 1, "é": "x", "b": {"c": 2}}
        assert document.places["b.c"] == Place("f", 4, 3)


def test_columns_count_characters() -> None:
    assert parse("键: {值: 1, x: 2}\n", "f").places["键.x"] == Place("f", 1, 11)


# Duplicates


def test_a_key_written_twice_is_named_with_both_places() -> None:
    document = parse("lr: 1\nb: 2\nlr: 3\n", "f")
    assert told(document) == [("ARL005", "lr", 3, 1)]
    assert "at line 1, column 1, and here" in document.findings[0].message


def test_a_section_written_twice_is_read_as_one() -> None:
    document = parse("v:\n  a: 1\n  b: 1\nv:\n  b: 2\n  c: 2\n", "f")
    assert told(document) == [("ARL005", "v", 4, 1), ("ARL005", "v.b", 5, 3)]
    assert document.tree == {"v": {"a": 1, "b": 2, "c": 2}}


def test_equal_keys_in_different_sections_are_no_duplicates() -> None:
    assert parse("a: {x: 1}\nb: {x: 1}\nx: 1\n", "f").findings == []


def test_keys_equal_only_after_reading_are_duplicates() -> None:
    assert told(parse("lr: 1\n'lr': 2\n\"l\\x72\": 3\n", "f")) == [("ARL005", "lr", 2, 1), ("ARL005", "lr", 3, 1)]


# Anchors, aliases, merge keys


def test_an_alias_is_the_value_that_its_anchor_names() -> None:
    document = parse("a: &x {b: [1, 2]}\nc: *x\n", "f")
    assert document.findings == []
    assert document.tree["c"] == {"b": [1, 2]}
    assert document.places["c"] == Place("f", 2, 1)
    assert document.places["c.b"] == Place("f", 1, 8)  # where it is written


def test_an_alias_is_a_copy() -> None:
    tree = parse("a: &x {b: 1}\nc: *x\n", "f").tree
    assert tree["a"] is not tree["c"]


def test_an_anchor_set_again_counts_from_there_on() -> None:
    assert parse("a: &x 1\nb: *x\nc: &x 2\nd: *x\n", "f").tree == {"a": 1, "b": 1, "c": 2, "d": 2}


def test_merge_keys() -> None:
    text = """
base: &base {a: 1, b: 1}
more: &more {b: 2, c: 2}
one: {<<: *base, b: 3}
two: {<<: [*base, *more], d: 4}
three:
  <<: *base
  <<: *more
inline: {<<: {a: 9}, b: 8}
"""
    document = parse(text, "f")
    assert document.tree["one"] == {"a": 1, "b": 3}
    assert document.tree["two"] == {"a": 1, "b": 1, "c": 2, "d": 4}
    assert document.tree["inline"] == {"a": 9, "b": 8}
    assert told(document) == [("ARL005", "three.<<", 8, 3)]
    assert document.places["one.a"] == Place("f", 2, 14)


def test_merging_through_several_anchors() -> None:
    assert parse("a: &a {x: 1}\nb: &b {<<: *a, y: 2}\nc: {<<: *b, z: 3}\n", "f").tree["c"] == {"x": 1, "y": 2, "z": 3}


def test_a_quoted_merge_key_is_a_key() -> None:
    assert parse("a: {'<<': 1}\n", "f").tree == {"a": {"<<": 1}}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: *x\n", "*x names an anchor that does not stand above it"),
        ("a: *x\nb: &x 1\n", "*x names an anchor that does not stand above it"),
        ("a: &x [*x]\n", "*x stands inside the value that &x names"),
        ("a: &x {b: {c: *x}}\n", "*x stands inside the value that &x names"),
        ("a: {<<: 1}\n", "the merge key << takes a section"),
        ("a: {<<: [1]}\n", "the merge key << takes a section"),
    ],
)
def test_aliases_without_their_anchor(text: str, message: str) -> None:
    assert message in only_message(text)


# Bounds


@pytest.mark.parametrize("loader", LOADERS)
@pytest.mark.parametrize("opening", ["[", "{", "- ", "? ", "{a: ", "[{a: "])
@pytest.mark.parametrize("depth", [100, 50_000])
def test_deep_nesting_is_one_finding(opening: str, depth: int, loader: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nodes, "Loader", loader)
    document = parse(opening * depth, "f")
    assert not document.whole
    assert len(document.findings) == 1
    assert "nest" in document.findings[0].message


def test_as_deep_as_allowed() -> None:
    depth = nodes.MAX_DEPTH - 1
    assert parse("a: " + "[" * depth + "]" * depth, "f").findings == []


def test_a_billion_laughs_are_one_finding() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 10)]
    assert only_message("\n".join(lines)) == "aliases expand to more than 50000 values"


def test_a_billion_merges_are_one_finding() -> None:
    lines = ["a0: &a0 {x: 1}", *(f"a{n}: &a{n} {{<<: *a{n - 1}, y{n}: 1}}" for n in range(1, 2000))]
    assert "aliases nest more than 64 levels deep" in only_message("\n".join(lines))
    wide = ["a: &a {" + ", ".join(f"k{n}: 1" for n in range(300)) + "}"]
    wide += [f"b{n}: {{<<: [{', '.join(['*a'] * 20)}]}}" for n in range(20)]
    assert "aliases expand to more than" in only_message("\n".join(wide))


def test_nesting_through_aliases_is_bounded() -> None:
    lines = ["a0: &a0 x", *(f"a{n}: &a{n} {'[' * 40}*a{n - 1}{']' * 40}" for n in range(1, 5))]
    assert "levels deep" in only_message("\n".join(lines))


def test_too_many_values_are_one_finding() -> None:
    assert only_message("a: [" + "1," * 60_000 + "]") == "more than 50000 keys and values"


def test_a_text_above_one_mebibyte_is_not_parsed() -> None:
    text = "a: 1\n" + "#" * (1 << 20)
    message = f"{len(text)} bytes; a configuration has at most 1048576 (1 MiB), so it was not read"
    assert only_message(text) == message
    assert only_message(text.encode()) == message
    assert parse("a: 1\n" + "#" * ((1 << 20) - 5), "f").tree == {"a": 1}


# Documents, tops, keys, tags


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "empty; a configuration is a list of keys with values"),
        (" \n \n", "empty; a conf"),
        ("# only a comment\n", "no keys in it"),
        ("---\n...\n", "no keys in it"),
        ("null\n", "no keys in it"),
        ("- a\n- b\n", "a list at the top"),
        ("[1, 2]\n", "a list at the top"),
        ("hello\n", "the text 'hello' at the top"),
        ("'null'\n", "the text 'null' at the top"),
        ("lr=1e-6\n", "a value follows its key after a colon, not after ="),
        ("lr:1e-6\n", "there is no space after the colon"),
        ("lr：1e-6\n", "the colon is a full-width one"),
    ],
)
def test_a_top_that_is_no_mapping(text: str, message: str) -> None:
    assert message in only_message(text)
    assert not parse(text, "f").whole


def test_a_second_document_is_a_finding_and_the_first_is_read() -> None:
    document = parse("a: 1\n---\nb: 2\n---\nc: 3\n", "f")
    assert told(document) == [("ARL007", "", 2, 1)]
    assert document.tree == {"a": 1}


@pytest.mark.parametrize("text", ["---\na: 1\n", "a: 1\n...\n", "%YAML 1.2\n---\na: 1\n"])
def test_one_document_with_its_marks_is_fine(text: str) -> None:
    document = parse(text, "f")
    assert (document.tree, document.findings) == ({"a": 1}, [])


@pytest.mark.parametrize(
    ("text", "key", "message"),
    [
        ("1: a\n", "1", "the key 1 is read as a int"),
        ("yes: a\n", "yes", "the key yes is read as a bool"),
        ("v:\n  on: a\n", "v.on", "the key on is read as a bool"),
        ("null: a\n", "null", "the key null is read as an empty value"),
        ("? \n: b\n", "", "the key (nothing) is read as an empty value"),
        ("? [a, b]\n: c\n", "", "a list stands where a key belongs"),
        ("v:\n  ? {a: b}\n  : c\n", "v", "a mapping stands where a key belongs"),
    ],
)
def test_keys_are_text(text: str, key: str, message: str) -> None:
    assert message in only_message(text)
    assert parse(text, "f").findings[0].key == key


def test_a_quoted_key_is_text() -> None:
    assert parse("'1': a\n\"yes\": b\n!!str 2: c\n", "f").tree == {"1": "a", "yes": "b", "2": "c"}
    assert parse("'1': a\n\"yes\": b\n!!str 2: c\n", "f").findings == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: !!python/object/apply:os.system [ls]\n", "the tag !!python/object/apply:os.system"),
        ("a: !mine 1\n", "the tag !mine"),
        ("a: !!set {x, y}\n", "the tag !!set"),
        ("a: !!binary aGk=\n", "the tag !!binary"),
        ("a: !!timestamp 2024-01-01\n", "the tag !!timestamp"),
        ("!mine a: 1\n", "the tag !mine"),
        ("a: !!int x\n", "'x' is not of the kind !!int"),
    ],
)
def test_tags_are_refused(text: str, message: str) -> None:
    assert message in only_message(text)


def test_tags_of_yaml_itself_are_read() -> None:
    document = parse("a: !!str 1\nb: !!int '3'\nd: !!map {x: !!float 1}\ne: !!seq [1]\n", "f")
    assert document.tree == {"a": "1", "b": 3, "d": {"x": 1.0}, "e": [1]}
    assert document.findings == []


def test_a_doubtful_number_is_a_finding_at_the_value() -> None:
    document = parse("v:\n  steps: 010\n", "f")
    assert told(document) == [("ARL010", "v.steps", 2, 10)]
    assert document.flawed == {"v.steps"}


def test_what_aliases_repeat_is_found_once() -> None:
    assert told(parse("a: &x {b: 010}\nc: *x\nd: *x\n", "f")) == [("ARL010", "a.b", 1, 11)]


def test_all_findings_come_in_one_run() -> None:
    text = "a: 010\na: !x 1\n1: 2\nb: *c\n---\nd: 1\n"
    assert sorted(code for code, *_ in told(parse(text, "f"))) == ["ARL005", "ARL007", "ARL008", "ARL009", "ARL011"]


# Characters


@pytest.mark.parametrize(
    ("content", "message", "line", "column"),
    [
        (b"a: 1\nb: \xff\n", "the byte 0xff is not UTF-8", 2, 4),
        ("a: 1\nb: 训练\n".encode("gb18030"), "the byte 0xc1 is not UTF-8", 2, 5),
        ("a: é\n".encode("latin-1"), "the byte 0xe9 is not UTF-8", 1, 4),
        ("a: 1".encode("utf-16"), "the text is UTF-16", 1, 1),
        ("a: 1".encode("utf-32"), "the text is UTF-32", 1, 1),
        (b"a: \xed\xa0\x80\n", "is not UTF-8", 1, 4),
        (b"\xef\xbb\xbfa: \xff", "is not UTF-8", 1, 4),
        (b"a: b\x00c\n", "the character U+0000 may not stand in a YAML text", 1, 5),
        ("a: 1\nb: \x1b[1m\x07\n", "U+001B may not stand in a YAML text (1 more of such characters)", 2, 4),
        ("é: \x1b\n", "U+001B", 1, 4),
        ("a: \x85b: \ud800\n", "the character U+D800", 2, 4),
        ("a: 1\n\ufeffb: 2\n", "the character U+FEFF", 2, 1),
        ("a: \uffff\n", "the character U+FFFF", 1, 4),
    ],
)
def test_what_is_no_text_is_found_with_its_place(content: str | bytes, message: str, line: int, column: int) -> None:
    assert message in only_message(content)
    assert told(parse(content, "f")) == [("ARL003", "", line, column)]


def test_text_of_every_plane_is_text() -> None:
    assert parse("a: \U0001f600 模型 \x85\n", "f").findings == []


@pytest.mark.parametrize("text", ['a: "\\ud800"\n', 'a: "\\U0011ffff"\n', 'a: "\\xZZ"\n'])
@pytest.mark.parametrize("loader", LOADERS)
def test_impossible_escapes_are_findings_with_either_loader(
    text: str, loader: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nodes, "Loader", loader)
    assert only_message(text)


# One value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e-5", 1e-5),
        ("16", 16),
        ("yes", True),
        ("", None),
        ("null", None),
        ("'16'", "16"),
        ('"a\\nb"', "a\nb"),
        ("[a, 'b c', 1]", ["a", "b c", 1]),
        ("[]", []),
        (" 3 ", 3),
        ("run #1", "run #1"),
        ("a: b", "a: b"),
        ("*.parquet", "*.parquet"),
        ("- x", "- x"),
        ("@x", "@x"),
        ("/data/a.parquet", "/data/a.parquet"),
        ("None", "None"),
    ],
)
def test_one_value_is_read_as_in_a_file(text: str, value: Any) -> None:
    found = scalar(text)
    assert (found, type(found)) == (value, type(value))


def test_nan_as_one_value() -> None:
    assert math.isnan(scalar(".nan"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("010", "octal"),
        ("1e999", "beyond the largest float"),
        ("{a: 1}", "is a section"),
        ("[1, 2", "is not closed"),
        ("'a", "never closed"),
        ("[1] x", "can't be read"),
        ("[*x]", "names an anchor"),
        ("'a' 'b'", "can't be read"),
        ("[1]\n---\n", "can't be read"),
        ("[010]", "octal"),
        ("'\x00'", "U+0000"),
    ],
)
def test_what_is_not_one_value_is_refused(text: str, message: str) -> None:
    with pytest.raises(ValueTextError) as refused:
        scalar(text)
    assert message in refused.value.message
    assert refused.value.hint
