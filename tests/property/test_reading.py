"""Whatever a file holds, reading gives values or findings: no exception, nothing that can't be printed or sent.

HYPOTHESIS_PROFILE=long runs 10,000 examples of each.
"""

from __future__ import annotations

import contextlib
import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import assume, given
from hypothesis import strategies as st

from agentic_rl.config.flat import FlatConfig
from agentic_rl.config.load import Loaded, load
from agentic_rl.config.source import Document, ValueTextError, nodes, parse, scalar
from agentic_rl.config.source.scalars import resolve

SAMPLE = """\
tokenizer_name_or_path: /path/to/model
model_name: qwen2.5-7b
agent_name: math
train_backend: verl
max_model_len: 10240
gpu_memory_utilization: 0.7
lr: 0.000005
enforce_eager: yes
dataset_additional_keys: ["problem", "answer"]
base: &base {total_epochs: 1, save_freq: 100}
verl:
  <<: *base
  total_training_steps: 100
  train_files: /data/gsm8k/train.parquet
  val_files: '/data/gsm8k/test.parquet'
  ckpt_content:
  - model
  - optimizer
"""

# Pieces that mean something to YAML, so that generated texts get further than the first line.
MARKS = [
    *"\n\t\r\\ #'\"[]{},:>|@`：",
    "\n  ",
    "\n- ",
    ": ",
    "? ",
    "&a",
    "*a",
    "<<: *a",
    "!!int ",
    "!x",
    "---\n",
    "...\n",
]
WORDS = ["1e-6", "010", "yes", "null", "~", ".inf", ".nan", "1:30", "2024-01-01", "1_000", "lr", "verl", "lr.x:1"]
CHARACTERS = ["\ufeff", "\x00", "\x85", "\u2028", "\ud800", "%YAML 1.1\n", "---\n", "...\n", "9" * 50]
LINES = ["train_backend: local", "local:", "agentic_ai: 1\n", "kl_loss_coef: 0.1", "lr.x: 1"]
PIECES = st.sampled_from([*MARKS, *WORDS, *CHARACTERS, *LINES])
KEYS = st.one_of(
    st.sampled_from([*FlatConfig.model_fields, "kl_loss_coef", "train_files", "runner"]), st.text(max_size=8)
)
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=20), st.dates(), st.binary(max_size=8)
)
VALUES: st.SearchStrategy[Any] = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=5), max_leaves=8
)
TREES = st.dictionaries(KEYS, VALUES, max_size=8)


def holds(loaded: Loaded) -> None:
    """What every result of reading promises."""
    document = loaded.document
    report = json.loads(json.dumps(loaded.to_dict(), allow_nan=False))
    assert report["verdict"] in ("ok", "warning", "error")
    loaded.render("text").encode()
    loaded.render("github").encode()
    for finding in loaded.report:
        assert finding.code.startswith("ARL")
        assert finding.message
        assert (finding.line is None) == (finding.column is None)
        if finding.line is not None and document.lines:
            assert 1 <= finding.line <= len(document.lines)
    if loaded.config is None:
        assert loaded.report.verdict == "error"
    if not document.whole:
        assert document.tree == {}
        assert document.findings


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("reading")


@cache
def written(folder: Path) -> Path:
    path = folder / "config.yaml"
    path.touch()
    path.chmod(0o640)
    return path


def load_bytes(folder: Path, content: bytes) -> Loaded:
    path = written(folder)
    path.write_bytes(content)
    return load(path, environ={})


def mutated(draw: st.DrawFn) -> str:
    text = SAMPLE
    for _ in range(draw(st.integers(1, 6))):
        start = draw(st.integers(0, len(text)))
        end = min(len(text), start + draw(st.integers(0, 8)))
        text = text[:start] + draw(st.one_of(PIECES, st.text(max_size=3))) + text[end:]
    return text


TEXTS = st.one_of(st.text(), st.lists(PIECES).map("".join), st.composite(mutated)())


@given(TEXTS)
def test_any_text_gives_a_report(folder: Path, text: str) -> None:
    holds(load_bytes(folder, text.encode("utf-8", "surrogatepass")))


@given(st.binary(max_size=200), st.sampled_from([b"", SAMPLE.encode(), b"\xef\xbb\xbf", b"a: "]))
def test_any_bytes_give_a_report(folder: Path, content: bytes, before: bytes) -> None:
    holds(load_bytes(folder, before + content))


@given(TREES, st.booleans(), st.sampled_from(["\n", "\r\n"]), st.sampled_from(["'", '"', None]))
def test_any_structure_gives_a_report(folder: Path, tree: Any, flow: bool, newline: str, style: str) -> None:
    text = yaml.safe_dump(tree, default_flow_style=flow, allow_unicode=True, default_style=style, line_break=newline)
    holds(load_bytes(folder, text.encode("utf-8", "surrogatepass")))


@given(TREES)
def test_any_mapping_gives_a_report(tree: Any) -> None:
    holds(load(tree, environ={}))


OVERRIDES = st.lists(
    st.one_of(st.text(max_size=20), st.builds("{}={}".format, KEYS, st.one_of(st.text(), PIECES))), max_size=4
)
ENVIRONMENTS = st.dictionaries(
    st.builds("AGENTIC_RL__{}".format, st.one_of(KEYS, KEYS.map(str.upper), st.just("VERL__LR"))), st.text(), max_size=3
)


@given(OVERRIDES, ENVIRONMENTS)
def test_any_override_gives_a_report(folder: Path, overrides: list[str], environ: dict[str, str]) -> None:
    path = written(folder)
    path.write_text(SAMPLE)
    loaded = load(path, overrides, environ=environ)
    json.dumps(loaded.to_dict(), allow_nan=False)
    loaded.render("text").encode()


@given(st.one_of(st.text(), PIECES, st.lists(PIECES).map("".join)))
def test_any_value_is_read_or_refused(text: str) -> None:
    with contextlib.suppress(ValueTextError):
        json.dumps(scalar(text))


# What PyYAML writes is read as PyYAML reads it, with places that point at the text.


def is_text(text: str) -> bool:
    """Whether it is text without quotes: PyYAML writes `1e5` without them, which we read as a number on purpose."""
    return isinstance(resolve(text).value, str)


PLAIN = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**63),
    st.floats(allow_nan=False),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=12).filter(is_text),
    st.sampled_from(["yes", "1", "1.5", "null", "", "010", "1:30", "2024-01-01", "<<", "a: b", "#", "~"]),
)
NAMES = st.text(st.characters(categories=["L", "Nd"]), min_size=1, max_size=8).filter(is_text)
PLAIN_TREES: st.SearchStrategy[Any] = st.dictionaries(
    NAMES,
    st.recursive(
        PLAIN, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3), max_leaves=8
    ),
    min_size=1,
    max_size=6,
)


def dumped(tree: Any, flow: bool | None) -> str:
    return yaml.safe_dump(tree, default_flow_style=flow, allow_unicode=True, sort_keys=False)


@given(PLAIN_TREES, st.sampled_from([True, False, None]))
def test_what_is_written_is_read_as_pyyaml_reads_it(tree: Any, flow: bool | None) -> None:
    text = dumped(tree, flow)
    document = parse(text, "f")
    assert document.findings == []
    assert document.tree == yaml.safe_load(text)


@given(PLAIN_TREES, st.sampled_from([True, False, None]), st.sampled_from(["\n", "\r\n"]))
def test_the_place_of_a_key_points_at_its_text(tree: Any, flow: bool | None, newline: str) -> None:
    document = parse(dumped(tree, flow).replace("\n", newline), "f")
    assume(document.whole)
    for key, place in document.places.items():
        name = key.rpartition(".")[2]
        if key.endswith("]"):
            continue
        assert place.line is not None
        assert place.column is not None
        rest = document.lines[place.line - 1][place.column - 1 :]
        assert rest.lstrip("'\"? ").startswith(name), (key, rest)


def read_with(loader: Any, text: str) -> Document:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nodes, "Loader", loader)
        return parse(text, "f")


@given(PLAIN_TREES, st.sampled_from([True, False, None]))
def test_both_parsers_of_pyyaml_agree(tree: Any, flow: bool | None) -> None:
    text = dumped(tree, flow)
    fast, pure = read_with(nodes.Loader, text), read_with(yaml.SafeLoader, text)
    assert fast == pure


@given(TEXTS)
def test_neither_parser_of_pyyaml_raises(text: str) -> None:
    for loader in (nodes.Loader, yaml.SafeLoader):
        document = read_with(loader, text)
        assert document.whole or document.findings
        json.dumps([vars(finding) for finding in document.findings])
