"""Provoking, for real, what is said of the composition of the instances format."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from agentic_rl.config.aura.composition import composing, finding_templates
from agentic_rl.config.aura.composition.merging import Merged
from agentic_rl.config.diagnostics import ConfigError
from agentic_rl.config.load import load

TEXT = """\
agentic_ai: {mode: serve, log_dir: HOME}
serve_conf: {port: 8030}
defaults:
  - ppo_trainer@verl_conf
  - _self_
verl_conf:
  trainer: {nnodes: 1}
"""
TEMPLATE = "trainer: {nnodes: 1}\ndata: {train_batch_size: 1024}\n"


def codes(home: Path, text: str = TEXT) -> set[str]:
    """The codes of what is found."""
    config = home / "config.yaml"
    config.write_text(text.replace("HOME", str(home)))
    return {finding.code for finding in load(config, environ={}, files=False).report}


def of_installed_verl(home: Path, monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Its folder is the only one that has the template."""
    verl = home / "verl"
    verl.mkdir()
    (verl / "ppo_trainer.yaml").write_text(TEMPLATE)
    monkeypatch.setattr(finding_templates, "config_dir", lambda: verl)
    return codes(home)


def replaced(home: Path, monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """What Hydra makes of a list without `_self_`."""
    return _composed(home, monkeypatch, {"trainer": {"nnodes": 2}}, own={"agentic_ai.mode"})


def without_hydra(home: Path, monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Python's own way of saying that a module can't be imported."""
    monkeypatch.setitem(sys.modules, "hydra", None)
    (home / "ppo_trainer.yaml").write_text(TEMPLATE)
    return codes(home)


def other_value(home: Path, monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """What Hydra makes of a template with another value than the documented default."""
    return _composed(
        home,
        monkeypatch,
        {"data": {"train_batch_size": 1024}, "trainer": {"nnodes": 1}},
        own={"verl_conf.trainer.nnodes"},
    )


def other_format(home: Path, monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """A file of the instances format where the flat one is asked for."""
    config = home / "config.yaml"
    config.write_text(f"agentic_ai: {{mode: serve, log_dir: {home}}}\nserve_conf: {{port: 8030}}\n")
    with pytest.raises(ConfigError) as refused:
        load(config, environ={}, files=False).require_flat()
    return {finding.code for finding in refused.value.report}


def _composed(home: Path, monkeypatch: pytest.MonkeyPatch, verl: dict[str, Any], own: set[str]) -> set[str]:
    (home / "ppo_trainer.yaml").write_text(TEMPLATE)
    tree = {"agentic_ai": {"mode": "serve", "log_dir": str(home)}, "serve_conf": {"port": 8030}, "verl_conf": verl}
    monkeypatch.setattr(composing, "merged", lambda *given: Merged(tree, own))
    return codes(home)


PROVOKED = {
    "ARL036": of_installed_verl,
    "ARL038": replaced,
    "ARL039": without_hydra,
    "ARL042": other_value,
    "ARL043": other_format,
}
