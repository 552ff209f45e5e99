"""Sets of hosts.conf, base.conf and YAML files whose paths are there."""

from __future__ import annotations

from pathlib import Path

from agentic_rl.config.secure_paths import fix_permissions
from agentic_rl.projects import create
from artifact_doubles import task_rows, write_model, write_rows

HYBRID = "127.0.0.1,0,1,1\n"
APART = "192.0.2.10,0,0\n192.0.2.11,1,1\n"


def make_set(folder: Path, hosts: str = HYBRID, mode: str = "hybrid", **base: str | int | None) -> Path:
    """The folder of the files; `base` holds further keys of base.conf, or None for those to leave out."""
    create("instances", folder, seed=0)
    write_model(folder / "model")
    rows = write_rows(folder / "rows.parquet", task_rows(32))
    fix_permissions([str(folder / "model"), str(rows)])
    configs = folder / "configs"
    for path in configs.rglob("*.yaml"):
        text = path.read_text().replace("/path/to/train.parquet", str(rows)).replace("/path/to/test.parquet", str(rows))
        path.write_text(text.replace("/path/to/model", str(folder / "model")))
    (configs / "hosts.conf").write_text(hosts)
    values: dict[str, str | int | None] = {"work_mode": mode, "train_config_name": f"verl_{mode}"}
    values |= {"infer_config_name": "vllm"} if mode != "hybrid" else {}
    values |= base
    (configs / "base.conf").write_text(
        "".join(f"{key}={value}\n" for key, value in values.items() if value is not None)
    )
    return configs
