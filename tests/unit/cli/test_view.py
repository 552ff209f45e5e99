from __future__ import annotations

import webbrowser
from pathlib import Path

import pytest
from typer.testing import CliRunner

from agentic_rl.cli.app import app
from agentic_rl.view import Server
from view_doubles import write_run


def invoke(*arguments: object) -> tuple[int, str, str]:
    shown = CliRunner().invoke(app, ["view", *map(str, arguments)])
    return shown.exit_code, shown.stdout, shown.stderr


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return write_run(tmp_path / "calc" / "seed-0")


def test_a_run_becomes_one_file(run: Path, tmp_path: Path) -> None:
    file = tmp_path / "run.html"
    code, told, _ = invoke(run, "--export", file)
    assert (code, told) == (0, f"wrote {file}: 0.1 MB\n")
    assert file.read_text().startswith("<!DOCTYPE html>")


def test_a_file_that_leaves_groups_out_says_so(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agentic_rl.view.export_file.MAX_BYTES", 1)
    _, told, _ = invoke(run, "--export", tmp_path / "run.html")
    assert told.endswith(", 1 of 4 groups (as many of each step as fit)\n")


@pytest.mark.parametrize("browser", [True, False])
def test_the_page_is_served_and_opened(run: Path, monkeypatch: pytest.MonkeyPatch, browser: bool) -> None:
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    monkeypatch.setattr(Server, "serve", lambda server: server._http.server_close())
    code, told, _ = invoke(run, "--port", 0, *([] if browser else ["--no-browser"]))
    assert code == 0
    address = told.split()[1]
    assert told == f"calc/seed-0: {address}  (Ctrl-C ends it)\n"
    assert opened == ([address] if browser else [])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere"], "error nowhere does not exist; give the folder of a run"),
        (["{run}", "--tokenizer", "nowhere"], "error nowhere has no readable tokenizer.json"),
        (["{run}", "--export", "nowhere/run.html"], "error nowhere/run.html: No such file or directory"),
        (["{run}", "--host", "192.0.2.1"], "error 192.0.2.1:8421 can't be had"),
    ],
)
def test_what_goes_wrong_is_one_line(run: Path, arguments: list[str], message: str) -> None:
    code, told, error = invoke(*[argument.format(run=run) for argument in arguments])
    assert (code, told) == (1, "")
    assert error.startswith(message)
    assert error.count("\n") == 1
