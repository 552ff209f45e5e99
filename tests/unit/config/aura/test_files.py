"""What a file of the instances format names on the disk, and on the machine."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from agentic_rl.config.aura.artifacts import in_use
from agentic_rl.config.aura.files import look_at_files
from agentic_rl.config.aura.validation import validate
from agentic_rl.config.rule_examples.listing import HOME
from aura_trees import SOUND, composed
from example_tree import write_tree

CONF = "verl_conf"
TREE: dict[str, Any] = {
    "data/train.parquet": {"tasks": 64},
    "data/test.parquet": {"tasks": 8},
    "models/qwen2.5-7b/": {"model": {}},
    "log/": {},
}
Look = Callable[..., list[str]]


@pytest.fixture
def look(tmp_path: Path) -> Look:
    """Severity, code and key of what is found with changes of the sound file; its files are there."""
    home = tmp_path.resolve()
    write_tree(home, TREE)

    def found(changes: dict[str, Any] | None = None, environ: dict[str, str] | None = None) -> list[str]:
        tree = composed(SOUND.replace(HOME, str(home)), changes)
        findings = look_at_files(validate(tree), tree, environ or {}).findings
        return [f"{one.severity} {one.code} {one.key}" for one in findings]

    found.home = home  # type: ignore[attr-defined]  # the folder that the file names
    return found


def home_of(look: Look) -> Path:
    home: Path = look.home  # type: ignore[attr-defined]  # set by the fixture
    return home


def test_everything_is_there(look: Look) -> None:
    assert look() == []


@pytest.mark.parametrize(
    ("key", "code"),
    [
        (f"{CONF}.data.train_files", "ARL300"),
        (f"{CONF}.actor_rollout_ref.model.path", "ARL300"),
        ("agent_instances[0].executor_kwargs.agent_engine_kwargs.tokenizer", "ARL300"),
        ("agentic_ai.log_dir", "ARL315"),
    ],
)
def test_what_is_not_there(look: Look, key: str, code: str) -> None:
    assert look({key: f"{home_of(look)}/gone.parquet"}) == [f"error {code} {key}"]


def test_a_folder_where_a_file_belongs(look: Look) -> None:
    (home_of(look) / "folder.parquet").mkdir()
    key = f"{CONF}.data.val_files"
    assert look({key: f"{home_of(look)}/folder.parquet"}) == [f"error ARL308 {key}"]


def test_modes_and_links_are_not_judged(look: Look) -> None:
    data = home_of(look) / "data" / "train.parquet"
    data.chmod(0o644)
    link = home_of(look) / "link.parquet"
    link.symlink_to(data)
    assert look({f"{CONF}.data.train_files": str(link)}) == []


def test_a_log_folder_that_everybody_can_write(look: Look) -> None:
    (home_of(look) / "log").chmod(0o777)
    assert look() == ["warning ARL315 agentic_ai.log_dir"]


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser can write everywhere")
def test_a_log_folder_that_can_not_be_written(look: Look) -> None:
    (home_of(look) / "log").chmod(0o550)
    assert look() == ["error ARL315 agentic_ai.log_dir"]


def test_a_model_of_links_is_left_to_the_engine(look: Look) -> None:
    model = home_of(look) / "models" / "qwen2.5-7b"
    linked = home_of(look) / "models" / "linked-7b"
    linked.mkdir()
    for file in model.iterdir():
        (linked / file.name).symlink_to(file)
    assert look({f"{CONF}.actor_rollout_ref.model.path": str(linked)}) == []


def test_an_incomplete_model(look: Look) -> None:
    (home_of(look) / "models" / "qwen2.5-7b" / "config.json").unlink()
    key = f"{CONF}.actor_rollout_ref.model.path"
    assert [one for one in look() if one.startswith("error")] == [f"error ARL430 {key}"]


def test_visible_devices(look: Look) -> None:
    key = f"{CONF}.trainer.n_gpus_per_node"
    assert look(environ={"ASCEND_RT_VISIBLE_DEVICES": "0,1,2,3"}) == [f"warning ARL272 {key}"]
    assert look(environ={"ASCEND_RT_VISIBLE_DEVICES": "0,1,2,3,4,5,6,7"}) == []
    assert look({f"{CONF}.trainer.device": "gpu"}, {"ASCEND_RT_VISIBLE_DEVICES": "0"}) == []


@pytest.fixture
def busy() -> Iterator[int]:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        yield listening.getsockname()[1]


def test_ports_in_use(look: Look, busy: int) -> None:
    assert in_use(busy)
    serve = {"agentic_ai.mode": "serve", "serve_conf": {"port": busy}}
    assert look(serve) == ["warning ARL286 serve_conf.port"]
    assert look({"serve_conf": {"port": busy}}) == []


def test_a_data_set_smaller_than_a_batch(look: Look) -> None:
    key = f"{CONF}.data.train_files"
    assert look({key: f"{home_of(look)}/data/test.parquet"}) == [f"error ARL544 {CONF}.data.train_batch_size"]
