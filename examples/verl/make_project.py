"""Write a project for verl that a laptop can run: a tiny random model, data, the agent and a configuration."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import torch
from transformers import AutoConfig, AutoModelForCausalLM

from agentic_rl import projects
from agentic_rl.config.secure_paths import fix_permissions

HERE = Path(__file__).parent


def make(folder: Path, template: Path = HERE / "config.yaml") -> Path:
    """Write the project into the new folder `folder` and return its configuration's path; `template` is that file."""
    projects.create("quickstart", folder)  # tokenizer and data are the quickstart's
    write_model(folder / "model")
    for leftover in ("README.md", "data/demonstrations.parquet"):
        (folder / leftover).unlink()
    shutil.copy(HERE / "agent.py", folder)
    config = folder / "config.yaml"
    config.write_text(template.read_text().replace("/path/to", str(folder.absolute())))
    (folder / "log").mkdir()
    fix_permissions([str(folder)])
    return config


def write_model(folder: Path) -> None:
    """Replace the quickstart's model: vLLM on a CPU has attention for heads of 32 dimensions, not of 16."""
    config = AutoConfig.from_pretrained(folder, num_attention_heads=2, num_key_value_heads=2, head_dim=32)
    torch.manual_seed(0)
    AutoModelForCausalLM.from_config(config).save_pretrained(folder)


if __name__ == "__main__":
    print(make(*map(Path, sys.argv[1:])))
