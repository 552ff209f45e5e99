"""What lies where a run would go on and save: real folders."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentic_rl.config.artifacts.checkpoints import read
from agentic_rl.config.artifacts.result import Request
from agentic_rl.config.diagnostics import Finding
from agentic_rl.config.load import load

CONFIG = {"model_type": "qwen2", "hidden_size": 64, "num_hidden_layers": 2, "vocab_size": 9}
SIZES = {"@checkpoint.model_type": "qwen2", "@checkpoint.hidden_size": 64, "@checkpoint.num_hidden_layers": 2}
POINTER = "latest_checkpointed_iteration.txt"


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a run below the current one."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "checkpoints" / "p" / "e"
    folder.mkdir(parents=True)
    return folder


def facts(backend: str = "verl", **paths: str) -> dict[str, Any]:
    values = {"train_backend": backend, f"{backend}.project_name": "p", f"{backend}.experiment_name": "e"}
    return read(Request({**values, **{f"{backend}.{name}": path for name, path in paths.items()}}, {}, {}, {})).facts


def of_verl(run: Path, step: int, world_size: int, ranks: range | None = None) -> Path:
    """A checkpoint as verl's FSDP writes it."""
    actor = run / f"global_step_{step}" / "actor"
    (actor / "huggingface").mkdir(parents=True)
    (actor / "huggingface" / "config.json").write_text(json.dumps(CONFIG))
    for rank in ranks or range(world_size):
        for part in ("model", "optim", "extra_state"):
            (actor / f"{part}_world_size_{world_size}_rank_{rank}.pt").write_bytes(b"x")
    (run / POINTER).write_text(str(step))
    return actor


def of_local(run: Path, step: int) -> Path:
    """A checkpoint as the local backend writes it."""
    folder = run / f"global_step_{step}"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(CONFIG))
    size = (folder / "config.json").stat().st_size
    manifest = {"format": 1, "step": step, "content": ["model"], "files": {"config.json": [size, "0" * 64]}}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    (run / POINTER).write_text(str(step))
    return folder


def test_nothing_there_says_nothing(run: Path) -> None:
    assert facts("verl") == facts("local") == {}
    run.rmdir()
    assert facts("verl") == facts("local") == {}


def test_checkpoint_of_verl(run: Path) -> None:
    of_verl(run, 20, 8)
    assert facts() == {
        "@checkpoint.path": str(run / "global_step_20"),
        "@checkpoint.step": 20,
        "@checkpoint.backend": "verl",
        "@checkpoint.world_size": 8,
        **SIZES,
    }


def test_pointer_of_verl_decides(run: Path) -> None:
    of_verl(run, 20, 8)
    of_verl(run, 10, 4)
    assert (facts()["@checkpoint.step"], facts()["@checkpoint.world_size"]) == (10, 4)


def test_missing_ranks_are_counted(run: Path) -> None:
    of_verl(run, 50, 16, range(8, 16))
    assert (facts()["@checkpoint.world_size"], facts()["@checkpoint.missing_ranks"]) == (16, 8)


def test_files_of_two_world_sizes_tell_none(run: Path) -> None:
    actor = of_verl(run, 20, 8)
    (actor / "model_world_size_4_rank_0.pt").write_bytes(b"x")
    assert "@checkpoint.world_size" not in facts()
    assert facts()["@checkpoint.backend"] == "verl"


@pytest.mark.parametrize("pointer", [None, "", "release", "21", "٢٠", "2" * 100, "-20"])
def test_checkpoints_that_the_pointer_does_not_lead_to(run: Path, pointer: str | None) -> None:
    of_verl(run, 10, 8)
    of_verl(run, 20, 8)
    (run / POINTER).unlink() if pointer is None else (run / POINTER).write_text(pointer)
    named = {"@checkpoint.pointed": 21} if pointer == "21" else {}
    assert facts() == {"@checkpoint.folder": str(run), "@checkpoint.unreached": (10, 20), **named}


def test_pointer_to_a_checkpoint_that_was_removed(run: Path) -> None:
    (run / POINTER).write_text("20")
    assert facts() == {"@checkpoint.folder": str(run), "@checkpoint.pointed": 20}
    assert facts("local") == {}


def test_pointer_may_end_in_a_line_break(run: Path) -> None:
    of_verl(run, 20, 8)
    (run / POINTER).write_text("20\n")
    assert facts()["@checkpoint.step"] == 20


def test_local_takes_the_newest_whole_checkpoint_whatever_the_pointer_says(run: Path) -> None:
    for step in (5, 10, 15):
        of_local(run, step)
    (run / "global_step_15" / "config.json").write_text("{}")
    (run / POINTER).write_text("5")
    assert facts("local") == {
        "@checkpoint.path": str(run / "global_step_10"),
        "@checkpoint.step": 10,
        "@checkpoint.backend": "local",
        "@checkpoint.content": ("model",),
        **SIZES,
    }


@pytest.mark.parametrize(
    "manifest", ["", "[]", '{"step": 4, "files": {}}', '{"step": 5, "files": {"a": []}}', '{"step": 5}']
)
def test_damaged_checkpoint_of_local_is_not_gone_on_from(run: Path, manifest: str) -> None:
    (of_local(run, 5) / "manifest.json").write_text(manifest)
    assert facts("local") == {"@checkpoint.folder": str(run), "@checkpoint.unreached": (5,)}


def test_the_other_backend_is_told_apart(run: Path) -> None:
    of_local(run, 5)
    assert facts("verl")["@checkpoint.backend"] == "local"
    of_verl(run, 6, 1)
    assert facts("local")["@checkpoint.step"] == 5


@pytest.mark.parametrize("manifest", ["", "[]", '{"content": 1}', '{"content": [[], "model"]}'])
def test_damaged_manifest_where_verl_goes_on(run: Path, manifest: str) -> None:
    (of_local(run, 5) / "manifest.json").write_text(manifest)
    assert facts("verl")["@checkpoint.backend"] == "local"
    assert facts("verl").get("@checkpoint.content", ("model",)) == ("model",)


def test_folder_without_a_checkpoint_has_no_backend(run: Path) -> None:
    (run / "global_step_3").mkdir()
    (run / POINTER).write_text("3")
    assert facts() == {"@checkpoint.path": str(run / "global_step_3"), "@checkpoint.step": 3}


@pytest.mark.parametrize("config", ["", "[1]", '{"hidden_size": [1]}', "[" * 100_000])
def test_unreadable_model_config_is_left_out(run: Path, config: str) -> None:
    (of_verl(run, 20, 8) / "huggingface" / "config.json").write_text(config)
    assert not any("hidden" in name for name in facts())
    assert facts()["@checkpoint.step"] == 20


@pytest.mark.parametrize(
    "place", [POINTER, "global_step_20/actor/huggingface/config.json", "global_step_20/manifest.json"]
)
@pytest.mark.parametrize("backend", ["verl", "local"])
def test_pipes_do_not_block(run: Path, place: str, backend: str) -> None:
    of_verl(run, 20, 8)
    (run / place).unlink(missing_ok=True)
    os.mkfifo(run / place)
    assert isinstance(facts(backend), dict)


def test_huge_pointer_is_not_read(run: Path) -> None:
    of_verl(run, 20, 8)
    with (run / POINTER).open("wb") as file:
        file.truncate(1 << 40)
    assert facts()["@checkpoint.unreached"] == (20,)


def test_linked_folder_is_followed(run: Path, tmp_path: Path) -> None:
    of_verl(run, 20, 8)
    run.rename(tmp_path / "disk")
    run.symlink_to(tmp_path / "disk")
    assert facts()["@checkpoint.world_size"] == 8


@pytest.mark.parametrize("backend", ["verl", "local"])
def test_file_in_the_place_of_the_output_folder(run: Path, tmp_path: Path, backend: str) -> None:
    run.rmdir()
    run.write_text("")
    assert facts(backend) == {"@output.problem": f"{run} is no folder"}
    run.unlink()
    run.parent.rmdir()
    run.parent.parent.rmdir()
    (tmp_path / "checkpoints").write_text("")
    assert facts(backend) == {"@output.problem": f"{tmp_path / 'checkpoints'} is no folder"}


def test_output_folder_of_another_user(run_as_ordinary_user: Callable[[str], Any]) -> None:
    code = """
from agentic_rl.config.artifacts.checkpoints import read
from agentic_rl.config.artifacts.result import Request
os.chdir(folder)
os.mkdir("checkpoints"); os.chmod("checkpoints", 0o550)
values = {"train_backend": "verl", "verl.project_name": "p", "verl.experiment_name": "e"}
result = [str(folder), read(Request(values, {}, {}, {})).facts]
"""
    folder, found = run_as_ordinary_user(code)
    assert found == {"@output.problem": f"{folder}/checkpoints can't be written by this user"}


def test_current_folder_that_was_removed(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert facts() == {}


def test_mindspeed_saves_where_it_is_told(tmp_path: Path) -> None:
    save = tmp_path / "out"
    assert facts("mindspeed_rl", save_params_path=str(save)) == {}
    save.mkdir()
    (save / POINTER).write_text("22")
    expected = {"@checkpoint.path": str(save), "@checkpoint.step": 22, "@checkpoint.backend": "mindspeed_rl"}
    assert facts("mindspeed_rl", save_params_path=str(save)) == expected
    (save / POINTER).write_text("release")
    assert facts("mindspeed_rl", save_params_path=str(save)) == {}


def test_values_that_did_not_validate_say_nothing(run: Path) -> None:
    of_verl(run, 20, 8)
    assert read(Request({"train_backend": "verl"}, {}, {}, {})).facts == {}
    assert read(Request({"train_backend": "mindspeed_rl"}, {}, {}, {})).facts == {}
    assert read(Request({}, {}, {}, {})).facts == {}


def test_a_configuration_is_checked_against_the_folder_and_the_environment(run: Path) -> None:
    of_verl(run, 20, 8)
    section = {"train_files": "/t.parquet", "val_files": "/v.parquet", "project_name": "p", "experiment_name": "e"}
    tree = {"train_backend": "verl", "num_gpus_per_node": 4, "agent_name": "math", "verl": section}
    found = {one.code: one for one in check_tree(tree, {"ASCEND_RT_VISIBLE_DEVICES": "0,1, 2"})}
    assert found["ARL260"].key == found["ARL272"].key == "num_gpus_per_node"
    assert found["ARL260"].message.endswith(
        "checkpoints/p/e/global_step_20, which 8 devices wrote; verl can't load it with 4"
    )
    assert found["ARL272"].message == "4 devices, but ASCEND_RT_VISIBLE_DEVICES shows 2 here"
    codes = {one.code for one in check_tree({**tree, "num_gpus_per_node": 8}, {})}
    assert not codes & {"ARL260", "ARL272"}


def check_tree(tree: dict[str, Any], environ: dict[str, str]) -> list[Finding]:
    return list(load(tree, environ=environ).report)
