"""The public interface: the promised names, imported lazily."""

from __future__ import annotations

import subprocess
import sys

import pytest

import agentic_rl

HEAVY = ("torch", "transformers", "ray", "hydra", "pydantic", "pydantic_settings", "yaml", "pyarrow", "rich")


def loaded_by(code: str) -> set[str]:
    """The modules among HEAVY that a fresh process has after `code`."""
    code += f"; import sys; print(*(name for name in {HEAVY} if name in sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_the_package_itself_loads_nothing() -> None:
    assert loaded_by("import agentic_rl; dir(agentic_rl)") == set()


@pytest.mark.parametrize("name", ["load_config", "check", "FlatConfig", "ConfigError", "Trainer", "train"])
def test_reading_loads_nothing_heavy(name: str) -> None:
    assert loaded_by(f"from agentic_rl import {name}") <= {"pydantic", "yaml"}


def test_agents_load_no_torch() -> None:
    assert "torch" not in loaded_by("from agentic_rl import Agent, ToolAgent, Task, BaseEngineWrapper, tool")


@pytest.mark.parametrize("name", agentic_rl.__all__)
def test_every_promised_name_is_there(name: str) -> None:
    assert getattr(agentic_rl, name) is not None
    assert name in dir(agentic_rl)


def test_other_names_are_not_there() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
        agentic_rl.nonsense  # noqa: B018 - the access is the point
