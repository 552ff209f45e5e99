from __future__ import annotations

import re
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from agentic_rl._version import __version__
from agentic_rl.cli.app import app

runner = CliRunner()


def test_help_names_every_command() -> None:
    shown = runner.invoke(app, ["--help"])
    assert shown.exit_code == 0
    for command in ("train", "check", "diff", "plan", "explain", "schema", "init"):
        assert re.search(rf"^  {command} ", shown.output, re.MULTILINE), command
    assert "agentic-rl --config-path FILE" in shown.output


def test_version_is_the_package_s() -> None:
    assert runner.invoke(app, ["--version"]).output == f"agentic-rl {__version__}\n"


@pytest.mark.parametrize("arguments", [["chekc", "x.yaml"], ["--config", "x.yaml"], ["check"], ["--config-path"]])
def test_wrong_usage_exits_with_2(arguments: list[str]) -> None:
    assert runner.invoke(app, arguments).exit_code == 2


def test_options_without_a_command_train() -> None:
    shown = runner.invoke(app, ["--config-path", "/nowhere/config.yaml"])
    assert shown.exit_code == 1
    assert "ARL001" in shown.output
    assert "/nowhere/config.yaml" in shown.output


@pytest.mark.parametrize("name", ["agentic-rl", "agentic_rl"])
def test_both_spellings_are_installed(name: str) -> None:
    from importlib.metadata import entry_points

    (point,) = entry_points(group="console_scripts", name=name)
    assert point.value == "agentic_rl.cli:main"


def test_module_runs_as_a_process_without_heavy_imports() -> None:
    code = (
        "import sys\nsys.argv = ['agentic-rl', '--help']\nfrom agentic_rl.cli import main\n"
        "try: main()\nexcept SystemExit as end: assert not end.code, end.code\n"
        "print(sorted({'torch', 'transformers', 'pyarrow', 'rich', 'pydantic'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
