"""What it costs to ask for help and to check a file of 60 keys, beside importing pydantic and yaml alone.

Prints CPU seconds, peak memory and the ratio to the baseline. Wanted: help at most 2; check at most 3 and under 80 MB,
and 0.3 s more and under 150 MB where it reads the model and the data that the file names.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from measure import alternate
from pydantic import BaseModel

BASELINE = "from pydantic import BaseModel; import yaml"
AGENTIC_RL = [sys.executable, "-m", "agentic_rl"]


def sixty_keys(folder: Path) -> Path:
    """A flat file of 60 keys for verl, with the model and the data of the quickstart."""
    from agentic_rl.config.flat import FlatConfig, VerlSection

    project = folder / "project"
    # In a process of its own: torch in this one would be counted in the memory of those that it starts.
    subprocess.run([*AGENTIC_RL, "init", "quickstart", str(project)], check=True, stdout=subprocess.DEVNULL)
    lines = [
        f"tokenizer_name_or_path: {project}/model",
        "agent_name: math",
        "train_backend: verl",
        "num_gpus_per_node: 1",
        "infer_tensor_parallel_size: 1",
        "max_model_len: 512",
        "max_prompt_length: 256",
        "max_tokens: 64",
        "entropy_coeff: 0.01",
    ]
    section = [
        f"  train_files: {project}/data/train.parquet",
        f"  val_files: {project}/data/test.parquet",
        "  train_batch_size: 16",
        "  max_response_length: 256",
    ]
    lines += [*_defaults(FlatConfig, lines, 22), "verl:"]
    section += [f"  {line}" for line in _defaults(VerlSection, section, 61 - len(lines) - len(section))]
    path = folder / "config.yaml"
    path.write_text("\n".join([*lines, *section]) + "\n")
    path.chmod(0o640)
    return path


def _defaults(model: type[BaseModel], written: list[str], count: int) -> list[str]:
    """`key: default` for the first scalars of a model that are not written already."""
    there = {line.partition(":")[0].strip() for line in written}
    lines = [
        f"{name}: {str(field.default).lower() if isinstance(field.default, bool) else field.default}"
        for name, field in model.model_fields.items()
        if isinstance(field.default, int | float | str) and name not in there
    ]
    return lines[:count]


def main() -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        folder.chmod(0o750)
        path = str(sixty_keys(folder))
        costs = alternate(
            {
                "import pydantic, yaml": [sys.executable, "-c", BASELINE],
                "--help": [*AGENTIC_RL, "--help"],
                "check --no-files": [*AGENTIC_RL, "check", path, "--no-files"],
                "the same, one override": [*AGENTIC_RL, "check", path, "lr=1e-5", "--no-files"],
                "check, with its files": [*AGENTIC_RL, "check", path],
            },
            rounds=9,
        )
    base = costs["import pydantic, yaml"].cpu_seconds
    print(f"{'command':24}{'CPU s':>8}{'ratio':>8}{'MiB':>8}{'exit':>6}")
    for name, cost in costs.items():
        print(f"{name:24}{cost.cpu_seconds:8.3f}{cost.cpu_seconds / base:8.2f}{cost.peak_mib:8.1f}{cost.returncode:6}")


if __name__ == "__main__":
    main()
