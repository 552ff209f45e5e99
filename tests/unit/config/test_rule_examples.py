"""Every rule has a bad and a good example, and they are what they say."""

from __future__ import annotations

import re

import pytest

from agentic_rl.cli.pages import all_pages
from agentic_rl.config import flat
from agentic_rl.config.flat.artifact_registry import relate
from agentic_rl.config.load import load_document
from agentic_rl.config.rule_examples import Example, described, example_of
from agentic_rl.config.source import parse

REQUIRED = {
    "tokenizer_name_or_path": "/models/qwen",
    "agent_name": "math",
    "train_backend": "verl",
    "entropy_coeff": "0.001",
}
OF_BACKEND = {"mindspeed_rl": {"model_name": "qwen2.5-7b", "dataset_additional_keys": "[problem]"}}
DATA = {"train_files": "/data/train.parquet", "val_files": "/data/test.parquet"}
OF_SECTION = {
    "verl": DATA,
    "local": DATA,
    "mindspeed_rl": {"data_path": "/data/train", "load_params_path": "/params", "save_params_path": "/out"},
}

WITHOUT = {
    *("ARL001", "ARL002", "ARL003"),  # a file that is not there, of 2 MB, of bytes: no text shows it
    *("ARL012", "ARL013"),  # wrong on the command line, not in a file
    *("ARL015", "ARL017", "ARL018", "ARL019"),  # about the run, its folder, its settings
    *("ARL258", "ARL261", "ARL262", "ARL263", "ARL267"),  # about folders on the disk
    *(f"ARL{number}" for number in range(300, 315)),  # about paths and modes
    *(
        f"ARL{number}" for number in (*range(410, 416), *range(420, 426))
    ),  # about the text of an agent file, rows of data
    *(f"ARL{number}" for number in (*range(430, 438), *range(440, 446))),  # about the files of a model
    *(f"ARL{number}" for number in (*range(450, 455), *range(460, 465))),  # about data files and Megatron's folders
    *(f"ARL{number}" for number in range(501, 505)),  # about this machine
}
"""Codes that have no example, because no text of a configuration shows what is wrong; their own tests make the files.
A new code gets an example, or its name and the reason here."""

CODES = sorted(code for code in all_pages() if example_of(code))


def complete(text: str) -> str:
    """The text with the keys that any configuration needs."""
    written = dict(re.findall(r"^(\w+): *(.*)$", text, re.MULTILINE))
    backend = written.get("train_backend", "verl")
    required = {**REQUIRED, **OF_BACKEND.get(backend, {})}
    head = "".join(f"{key}: {value}\n" for key, value in required.items() if key not in written)
    section = re.search(rf"^{backend}:.*\n", text, re.MULTILINE)
    if "verl.nnodes" in text:
        return head + text
    body = text[section.end() :] if section else ""
    rows = "".join(
        f"  {key}: {value}\n" for key, value in OF_SECTION[backend].items() if not re.search(rf"^  {key}:", body, re.M)
    )
    if not section:
        return f"{head}{backend}:\n{rows}{text}"
    return head + text[: section.end()] + rows + text[section.end() :]


def findings(example: Example, text: str) -> dict[str, str]:
    """Code -> severity of what is found."""
    document = parse(text if example.whole else complete(text), "config.yaml")
    loaded = load_document(document, files=False, environ={})
    found = list(loaded.report)
    if example.facts:
        place_of = document.places.get
        found += relate(flat.validate(document.tree, place_of), example.facts, place_of)
    return {finding.code: finding.severity for finding in found}


def test_no_code_lacks_an_example_unnoticed() -> None:
    lacking = {code for code in all_pages() if not example_of(code)}
    assert lacking == WITHOUT


@pytest.mark.parametrize("code", CODES)
def test_the_bad_example_has_the_finding(code: str) -> None:
    example = example_of(code)
    assert example is not None
    assert code in findings(example, example.bad)


@pytest.mark.parametrize("code", CODES)
def test_the_good_example_has_neither_it_nor_an_error(code: str) -> None:
    example = example_of(code)
    assert example is not None
    found = findings(example, example.good)
    if example.whole and "\n  train_files" not in example.good:  # too short to be more than readable
        assert code not in found
    else:
        assert [one for one, severity in found.items() if one == code or severity == "error"] == []


def test_what_was_read_elsewhere_is_told() -> None:
    example = example_of("ARL271")
    assert example is not None
    assert described(example)["Bad"].splitlines()[0] == "# model: num_attention_heads is 28"
