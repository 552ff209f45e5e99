"""`agentic-rl --config-path FILE` does what the format and the mode of the file say."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from typer.testing import CliRunner

from agentic_rl import serve
from agentic_rl.cli.app import app
from agentic_rl.cluster import direct
from agentic_rl.config.loaded import Loaded


def written(folder: Path, mode: str) -> Path:
    path = folder / "config.yaml"
    path.write_text(f"agentic_ai: {{mode: {mode}, log_dir: {folder}}}\nserve_conf: {{}}\n")
    return path


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str, list[str]]]:
    """What was run, with which mode and overrides."""
    calls = []

    def named(name: str, status: int) -> object:
        def run(loaded: Loaded, overrides: Sequence[str], **options: bool) -> int:
            calls.append((name, loaded.require_aura().agentic_ai.mode, list(overrides)))
            return status

        return run

    monkeypatch.setattr(direct, "run_direct", named("direct", 1))
    monkeypatch.setattr(serve, "run", named("serve", 0))
    return calls


@pytest.mark.parametrize(
    ("mode", "expected", "status"), [("direct", "direct", 1), ("serve", "serve", 0), ("direct_with_serve", "direct", 1)]
)
def test_the_mode_decides(tmp_path: Path, asked: list[object], mode: str, expected: str, status: int) -> None:
    override = "agentic_ai.log_level=DEBUG"
    result = CliRunner().invoke(app, ["--config-path", str(written(tmp_path, mode)), override])
    assert asked == [(expected, mode, [override])]
    assert result.exit_code == status


def test_an_override_decides_over_the_file(tmp_path: Path, asked: list[object]) -> None:
    CliRunner().invoke(app, ["--config-path", str(written(tmp_path, "direct")), "agentic_ai.mode=serve"])
    assert asked == [("serve", "serve", ["agentic_ai.mode=serve"])]


def test_a_file_with_an_error_runs_nothing(tmp_path: Path, asked: list[object]) -> None:
    result = CliRunner().invoke(app, ["--config-path", str(written(tmp_path, "dircet"))])
    assert (result.exit_code, asked) == (1, [])
    assert "agentic_ai.mode" in result.output
    assert "Traceback" not in result.output
