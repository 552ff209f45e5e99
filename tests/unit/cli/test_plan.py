from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from agentic_rl.backends import registry
from agentic_rl.cli.app import app

runner = CliRunner()


@pytest.fixture(autouse=True)
def _without_verl(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its backend looks for the package, which is there in some environments."""
    monkeypatch.setattr(registry, "available", lambda: {"local": None})


def test_backend_that_cannot_train_says_so(config: Path) -> None:
    shown = runner.invoke(app, ["plan", str(config)])
    assert shown.exit_code == 1
    assert "ARL501" in shown.output


def test_training_with_it_fails_the_same_way(config: Path) -> None:
    shown = runner.invoke(app, ["--config-path", str(config)])
    assert shown.exit_code == 1
    assert "ARL501" in shown.output
    assert "Traceback" not in shown.output


def with_sizes(config: Path) -> None:
    """Let the model be one of 8 billion parameters."""
    sizes = {
        "architectures": ["Qwen3ForCausalLM"],
        "model_type": "qwen3",
        "num_hidden_layers": 36,
        "hidden_size": 4096,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
        "head_dim": 128,
        "intermediate_size": 12288,
        "vocab_size": 151936,
        "max_position_embeddings": 40960,
        "tie_word_embeddings": False,
    }
    (config.parent / "model" / "config.json").write_text(json.dumps(sizes))


def test_a_backend_that_cannot_train_is_planned_for_with_its_memory(config: Path) -> None:
    with_sizes(config)
    shown = runner.invoke(app, ["plan", str(config), "--device-memory", "32GiB"])
    assert shown.exit_code == 1
    assert "ARL501" in shown.stderr
    assert "ARL280" in shown.stderr
    assert "nothing: verl can be checked but not trained with" in shown.stdout
    assert "8 on each of 1 node" in shown.stdout
    assert "weights: 8.19 billion parameters x 4 bytes (float32 shards) / 8 devices" in shown.stdout


def test_the_memory_is_in_the_json_form(config: Path) -> None:
    with_sizes(config)
    shown = runner.invoke(app, ["plan", str(config), "--json", "--device-memory", "80GB"])
    memory = json.loads(shown.stdout)["memory"]
    assert memory["device_memory"] == 80 << 30
    assert memory["peak"] == max(memory["rollout"], memory["update"])
    assert {item["name"] for item in memory["items"]} >= {"weights", "optimizer", "the engine's share"}


def test_a_model_of_unknown_size_has_no_estimate(config: Path) -> None:
    (config.parent / "model" / "config.json").write_text("{}")
    planned = json.loads(runner.invoke(app, ["plan", str(config), "--json"]).stdout)
    assert planned["memory"] is None
    assert planned["no_memory"].startswith("no estimate: the model's config.json does not say num_hidden_layers, ")


def test_a_model_without_one_size_has_no_estimate_and_the_text_names_it(config: Path) -> None:
    with_sizes(config)
    sizes = json.loads((config.parent / "model" / "config.json").read_text())
    del sizes["intermediate_size"]
    (config.parent / "model" / "config.json").write_text(json.dumps(sizes))
    shown = runner.invoke(app, ["plan", str(config)]).stdout
    assert "memory:\n  no estimate: the model's config.json does not say intermediate_size\n" in shown


@pytest.mark.parametrize("command", ["plan", "check", "doctor"])
def test_what_is_no_size_of_memory_is_wrong_usage(config: Path, command: str) -> None:
    shown = runner.invoke(app, [command, str(config), "--device-memory", "lots"])
    assert shown.exit_code == 2
    assert "64GiB" in shown.output


def test_check_compares_with_the_memory_given(config: Path) -> None:
    with_sizes(config)
    assert "ARL280" in runner.invoke(app, ["check", str(config), "--device-memory", "32GiB"]).output
    assert "ARL280" not in runner.invoke(app, ["check", str(config), "--device-memory", "640GiB"]).output
