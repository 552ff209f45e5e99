"""The bad and the good examples of rules are what they say; `test_provocations.py` counts that no code lacks one."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping
from pathlib import Path

import pytest
from typer.testing import CliRunner

from agentic_rl.cli.app import app
from agentic_rl.cli.pages import all_pages
from agentic_rl.config import flat
from agentic_rl.config.aura.rules.registry import broken_relations
from agentic_rl.config.aura.validation import validate
from agentic_rl.config.flat.artifact_registry import relate
from agentic_rl.config.formats import detect
from agentic_rl.config.load import load, load_document
from agentic_rl.config.rule_examples import HOME, Entry, Example, described, example_of
from agentic_rl.config.rule_examples.listing import listed
from agentic_rl.config.source import parse
from aura_trees import completed, composed
from example_tree import write_tree

REQUIRED = {
    "tokenizer_name_or_path": f"{HOME}/models/qwen",
    "agent_name": "math",
    "train_backend": "verl",
    "entropy_coeff": "0.001",
}
OF_BACKEND = {"mindspeed_rl": {"model_name": "qwen2.5-7b", "dataset_additional_keys": "[problem]"}}
DATA = {"train_files": f"{HOME}/data/train.parquet", "val_files": f"{HOME}/data/test.parquet"}
OF_SECTION = {
    "verl": DATA,
    "local": DATA,
    "mindspeed_rl": {
        "data_path": f"{HOME}/data/math",
        "load_params_path": f"{HOME}/params",
        "save_params_path": f"{HOME}/out",
    },
}

EXAMPLES = {code: example for code in all_pages() if (example := example_of(code))}
CODES = sorted(code for code, example in EXAMPLES.items() if not example.on_disk)
CODES_ON_DISK = sorted(EXAMPLES.keys() - CODES)


def complete(text: str) -> str:
    """The text with the keys that any configuration needs."""
    if of_instances(text):
        return completed(text)
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


def of_instances(text: str) -> bool:
    """Whether the text is of the instances format."""
    return detect(re.findall(r"^(\w+):", text, re.MULTILINE)) == "aura"


def findings_of_instances(example: Example, text: str) -> dict[str, str]:
    """Code -> severity, of a text of the instances format."""
    tree = composed(completed(text))
    validated = validate(tree)
    found = {one.code: one.severity for one in validated.findings}
    if example.facts:
        broken = broken_relations(validated.values, tree, {}, {"": example.facts})
        found |= {rule.page.code: problem.severity or rule.page.severity for rule, problem in broken}
    return found


def findings(example: Example, text: str) -> dict[str, str]:
    """Code -> severity of what is found."""
    if of_instances(text):
        return findings_of_instances(example, text)
    document = parse(text if example.whole else complete(text), "config.yaml")
    loaded = load_document(document, files=False, environ={})
    found = list(loaded.report)
    if example.facts:
        place_of = document.places.get
        found += relate(flat.validate(document.tree, place_of), example.facts, place_of)
    return {finding.code: finding.severity for finding in found}


@pytest.mark.parametrize("code", CODES)
def test_the_bad_example_has_the_finding(code: str) -> None:
    example = EXAMPLES[code]
    assert code in findings(example, example.bad)


@pytest.mark.parametrize("code", CODES)
def test_the_good_example_has_neither_it_nor_an_error(code: str) -> None:
    example = EXAMPLES[code]
    found = findings(example, example.good)
    if example.whole and "\n  train_files" not in example.good:  # too short to be more than readable
        assert code not in found
    else:
        assert [one for one, severity in found.items() if one == code or severity == "error"] == []


def found_on_disk(code: str, text: str, files: Mapping[str, Entry], home: Path) -> set[str]:
    """Of what is found with the files on the disk, which `home` holds: the errors' codes, and `code` if it is there."""
    if EXAMPLES[code].command:
        write_tree(home, {path: whole(path, entry) for path, entry in files.items()})
        found = findings_of_command(text)
    else:
        write_tree(home, {**files, "config.yaml": complete(text)})
        found = {one.code: one.severity for one in load(home / "config.yaml", environ={}).report}
    return {one for one, severity in found.items() if one == code or severity == "error"}


def whole(path: str, entry: Entry) -> Entry:
    """The entry of a file; of a run's configuration with the keys that any needs."""
    if not path.endswith("run.yaml"):
        return entry
    return complete(entry) if isinstance(entry, str) else {**entry, "text": complete(entry["text"])}


def findings_of_command(command: str) -> dict[str, str]:
    """Code -> severity of what the command prints."""
    printed = CliRunner().invoke(app, [*shlex.split(command)[1:], "--format", "json"]).stdout
    return {finding["code"]: finding["severity"] for finding in json.loads(printed)["findings"]}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that stands for `HOME`, and is the current one."""
    monkeypatch.chdir(tmp_path)
    return tmp_path.resolve()


@pytest.mark.parametrize("code", CODES_ON_DISK)
def test_the_bad_files_have_the_finding_and_no_other_error(code: str, home: Path) -> None:
    example = EXAMPLES[code]
    assert found_on_disk(code, example.bad, {**example.files, **example.bad_files}, home) == {code}


@pytest.mark.parametrize("code", CODES_ON_DISK)
def test_the_good_files_have_neither_it_nor_an_error(code: str, home: Path) -> None:
    example = EXAMPLES[code]
    assert found_on_disk(code, example.good, {**example.files, **example.good_files}, home) == set()


def test_what_was_read_elsewhere_is_told() -> None:
    example = example_of("ARL271")
    assert example is not None
    assert described(example)["Bad"].splitlines()[0] == "# model: num_attention_heads is 28"


def test_files_are_listed_with_their_modes_and_contents() -> None:
    assert listed({"gone": None, "new": {"link": "old"}, "models/": {"mode": 755}, "one": "line"}).splitlines() == [
        "# /home/me/gone: not there",
        "# /home/me/new: a link to old",
        "# /home/me/models/ (mode 755)",
        "# /home/me/one (mode 640): line",
    ]
    assert listed({"a.py": {"text": "x\n\ny\n", "encoding": "latin-1"}, "b.parquet": {"rows": [{"a": 1}]}}) == (
        "# /home/me/a.py (mode 640, latin-1):\n#     x\n#\n#     y\n"
        '# /home/me/b.parquet (mode 640): parquet, rows:\n#     {"a": 1}\n'
    )
    changed = {"model/": {"model": {"vocab_size": 5}}, "c.parquet": {"tasks": 3, "changed": {"data_source": ""}}}
    assert listed(changed).splitlines() == [
        "# /home/me/model/ (mode 750): a whole model (config.json with vocab_size: 5)",
        """# /home/me/c.parquet (mode 640): parquet, 3 tasks in verl's layout (data_source: "")""",
    ]
