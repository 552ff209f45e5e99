"""A mapping in the place of a file."""

from __future__ import annotations

from pathlib import Path
from types import MappingProxyType
from typing import Any

from agentic_rl.config.mapping import document_of


def test_a_mapping_is_copied_to_plain_values() -> None:
    section = {"files": (Path("/a"), "b"), "n": 1}
    document = document_of({"lr": 1e-6, "verl": MappingProxyType(section)})
    assert document.tree == {"lr": 1e-6, "verl": {"files": ["/a", "b"], "n": 1}}
    assert document.findings == []
    assert set(document.places) == {"lr", "verl", "verl.files", "verl.files[0]", "verl.files[1]", "verl.n"}
    section["n"] = 2
    assert document.tree["verl"]["n"] == 1


def test_keys_that_are_not_text_are_findings() -> None:
    document = document_of({1: "a", "v": {None: 2, "x": 3}})
    assert [(finding.code, finding.key) for finding in document.findings] == [("ARL009", ""), ("ARL009", "v")]
    assert document.tree == {"v": {"x": 3}}


def test_a_mapping_in_itself_is_one_finding() -> None:
    mapping: dict[str, Any] = {}
    mapping["a"] = {"b": [mapping]}
    document = document_of(mapping)
    assert [finding.code for finding in document.findings] == ["ARL002"]
    assert not document.whole
