from __future__ import annotations

from pathlib import Path

from typer.testing import CliRunner

from agentic_rl.cli.app import app
from agentic_rl.cli.pages import all_pages
from agentic_rl.cli.rule_pages import render_all, write

COMMITTED = Path(__file__).parents[3] / "docs" / "rules"


def test_committed_pages_are_current() -> None:
    committed = {path.name: path.read_text(encoding="utf-8") for path in COMMITTED.glob("*.md")}
    assert committed == render_all(), "write them again: python -m agentic_rl.cli.rule_pages docs/rules"


def test_there_is_a_page_for_every_code_and_an_index() -> None:
    texts = render_all()
    assert set(texts) == {"index.md", *(f"{code}.md" for code in all_pages())}
    assert all(f"]({code}.md)" in texts["index.md"] for code in all_pages())
    assert "## Bad\n\n```yaml\nverl:\n  train_batch_size: 32\n  ppo_mini_batch_size: 64\n```" in texts["ARL204.md"]


def test_pages_of_codes_that_are_no_more_are_removed(tmp_path: Path) -> None:
    (tmp_path / "ARL999.md").write_text("gone")
    write(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == set(render_all())


def test_explain_prints_the_examples() -> None:
    shown = CliRunner().invoke(app, ["explain", "ARL204"]).output
    assert "Good:\n\n    verl:\n      train_batch_size: 32\n      ppo_mini_batch_size: 16\n" in shown


def test_explain_lists_the_files_of_an_example() -> None:
    shown = CliRunner().invoke(app, ["explain", "ARL305"]).output
    assert "Bad:\n\n    # /home/me/models/qwen/ (mode 755): a whole model\n    tokenizer_name_or_path: " in shown


def test_commands_are_shown_as_such() -> None:
    assert (
        "```shell\n# /home/me/run.yaml (mode 640): lr: 1.0e-6\nagentic-rl check run.yaml --no-files\n```"
        in (render_all()["ARL015.md"])
    )
