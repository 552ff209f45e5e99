"""SARIF 2.1.0. The schema below holds what the standard requires of the parts that are written."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest

from agentic_rl.config.diagnostics import COMMAND_LINE, STANDARD_INPUT, Finding, Report
from agentic_rl.config.load import load
from agentic_rl.config.reporting.sarif import log

MESSAGE = {"type": "object", "required": ["text"], "properties": {"text": {"type": "string", "minLength": 1}}}
LEVEL = {"enum": ["none", "note", "warning", "error"]}
POSITIVE = {"type": "integer", "minimum": 1}


def closed(required: list[str], **properties: Any) -> dict[str, Any]:
    return {"type": "object", "required": required, "properties": properties, "additionalProperties": False}


def several(items: dict[str, Any], minimum: int = 0) -> dict[str, Any]:
    return {"type": "array", "items": items, "minItems": minimum}


RULE = closed(
    ["id"],
    id={"type": "string"},
    name={"type": "string", "pattern": "^[A-Za-z0-9]+$"},
    shortDescription=MESSAGE,
    fullDescription=MESSAGE,
    help={**MESSAGE, "properties": {**MESSAGE["properties"], "markdown": {"type": "string"}}},  # type: ignore[dict-item]
    defaultConfiguration=closed([], level=LEVEL),
)
PLACE = closed(
    ["artifactLocation"],
    artifactLocation=closed(["uri"], uri={"type": "string", "pattern": r"^[A-Za-z0-9._~%/:-]+$"}),
    region=closed(["startLine"], startLine=POSITIVE, startColumn=POSITIVE),
)
LOCATION = closed(
    [],
    physicalLocation=PLACE,
    logicalLocations=several(closed([], fullyQualifiedName={"type": "string"}, kind={"type": "string"})),
)
RESULT = closed(
    ["message"],
    ruleId={"type": "string"},
    ruleIndex={"type": "integer", "minimum": 0},
    level=LEVEL,
    message=MESSAGE,
    locations=several(LOCATION, 1),
)
DRIVER = closed(["name"], name={"const": "agentic-rl"}, semanticVersion={"type": "string"}, rules=several(RULE))
RUN = closed(
    ["tool"],
    tool=closed(["driver"], driver=DRIVER),
    columnKind={"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
    results=several(RESULT),
)
SCHEMA = closed(
    ["version", "runs"], **{"$schema": {"type": "string"}}, version={"const": "2.1.0"}, runs=several(RUN, 1)
)


def run_of(report: Report) -> dict[str, Any]:
    document = json.loads(json.dumps(log(report)))
    jsonschema.Draft202012Validator(SCHEMA).validate(document)
    (run,) = document["runs"]
    assert isinstance(run, dict)
    return run


def test_every_finding_is_a_result_with_its_rule() -> None:
    report = load({"train_backend": "local", "lr": -1, "rolout_n": 3}, ["lam=2"], files=False).report
    run = run_of(report)
    rules = run["tool"]["driver"]["rules"]
    assert [result["ruleId"] for result in run["results"]] == [finding.code for finding in report]
    assert all(rules[result["ruleIndex"]]["id"] == result["ruleId"] for result in run["results"])
    assert all(len(rule["help"]["text"].split()) > 5 for rule in rules)


def test_an_empty_report_is_a_run_without_results() -> None:
    assert run_of(Report())["results"] == []


@pytest.mark.parametrize(
    ("file", "uri"),
    [
        ("conf/a.yaml", "conf/a.yaml"),
        ("/data/a b.yaml", "file:///data/a%20b.yaml"),
        ("学/\udcff.yaml", "%E5%AD%A6/%FF.yaml"),
    ],
)
def test_files_are_addresses(file: str, uri: str) -> None:
    (result,) = run_of(Report([Finding("ARL101", "error", "lr", "-1", "lr: 1", file, 3, 5)]))["results"]
    (location,) = result["locations"]
    place = location["physicalLocation"]
    assert place == {"artifactLocation": {"uri": uri}, "region": {"startLine": 3, "startColumn": 5}}
    assert result["message"]["text"] == "lr: -1\nfix: lr: 1"


@pytest.mark.parametrize("file", ["", COMMAND_LINE, STANDARD_INPUT])
def test_what_stands_in_no_file_is_found_by_its_key(file: str) -> None:
    (result,) = run_of(Report([Finding("ARL101", "note", "lr", "-1", file=file)]))["results"]
    assert result["locations"] == [{"logicalLocations": [{"fullyQualifiedName": "lr", "kind": "member"}]}]


def test_a_finding_without_any_place_has_no_location() -> None:
    (result,) = run_of(Report([Finding("ARL101", "warning", "", "x")]))["results"]
    assert "locations" not in result
