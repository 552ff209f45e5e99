from __future__ import annotations

import shlex
from pathlib import Path

import pytest
import yaml
from click.testing import Result
from typer.testing import CliRunner

from agentic_rl.cli.app import app
from agentic_rl.cli.render import command
from verl_doubles import HAS_VERL

needs_verl = pytest.mark.skipif(not HAS_VERL, reason="verl is not installed")


def rendered(config: Path, *arguments: str) -> Result:
    return CliRunner().invoke(app, ["render", "--backend", "verl", "--config-path", str(config), *arguments])


@needs_verl
@pytest.mark.verl
def test_the_whole_configuration(config: Path) -> None:
    shown = rendered(config, "device=gpu", "lr=2e-6")
    assert shown.exit_code == 0, shown.output
    native = yaml.safe_load(shown.stdout)
    assert native["actor_rollout_ref"]["actor"]["optim"]["lr"] == 2e-6
    assert native["actor_rollout_ref"]["rollout"]["n"] == 4
    assert rendered(config, "device=gpu", "lr=2e-6").stdout == shown.stdout


@needs_verl
@pytest.mark.verl
def test_the_command_line(config: Path) -> None:
    shown = rendered(config, "--format", "overrides", "--template", "ppo_megatron_trainer", "device=gpu")
    words = shlex.split(shown.stdout.replace("\\\n", " "))
    assert words[:4] == ["python", "-m", "verl.trainer.main_ppo", "--config-name=ppo_megatron_trainer"]
    assert "data.train_batch_size=32" in words


@needs_verl
@pytest.mark.verl
def test_an_unknown_template_is_one_clear_line(config: Path) -> None:
    shown = rendered(config, "--template", "ppo", "device=gpu")
    assert shown.exit_code == 1
    assert "error verl has no configuration 'ppo'" in shown.stderr


@pytest.mark.skipif(HAS_VERL, reason="verl is installed")
def test_without_verl_it_is_one_clear_line(config: Path) -> None:
    shown = rendered(config, "device=gpu")
    assert shown.exit_code == 1
    assert "error verl is not installed\n    fix: python -m pip install 'agentic-rl[verl]'" in shown.stderr


def test_a_file_with_an_error_is_not_rendered(config: Path) -> None:
    shown = rendered(config, "rollout_n=0")
    assert (shown.exit_code, shown.stdout) == (1, "")
    assert "ARL" in shown.stderr


def test_another_backend_has_no_configuration_of_its_own(config: Path) -> None:
    assert CliRunner().invoke(app, ["render", "--config-path", str(config), "--backend", "local"]).exit_code == 2


def test_arguments_are_quoted_for_a_shell() -> None:
    text = command(["a=1", "b='it is'"])
    assert text == "python -m verl.trainer.main_ppo \\\n  a=1 \\\n  'b='\"'\"'it is'\"'\"''\n"
