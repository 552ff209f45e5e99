"""A project to run the commands on."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentic_rl.config.secure_paths import fix_permissions
from artifact_doubles import task_rows, write_model, write_rows


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """A correct configuration for verl whose files are there, with the documented modes."""
    tmp_path.chmod(0o750)

    def write(name: str, text: str) -> Path:
        path = tmp_path / name
        path.parent.mkdir(mode=0o750, exist_ok=True)
        path.write_text(text)
        path.chmod(0o640)
        return path

    write_model(tmp_path / "model")
    rows = write_rows(tmp_path / "rows.parquet", task_rows(32))
    fix_permissions([str(tmp_path / "model"), str(rows)])
    return write(
        "config.yaml",
        f"""\
tokenizer_name_or_path: {tmp_path}/model
agent_name: math
train_backend: verl
rollout_n: 4
entropy_coeff: 0.01
verl:
  train_files: {rows}
  val_files: {rows}
  train_batch_size: 32
""",
    )
