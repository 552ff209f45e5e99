"""What it costs to ask for help and to check a file, beside importing pydantic and yaml alone.

Prints CPU seconds, peak memory and the ratio to the baseline. Wanted: help at most 2, check at most 3, under 80 MB.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from measure import alternate

BASELINE = "from pydantic import BaseModel; import yaml"


def sixty_keys(folder: Path) -> Path:
    """A flat file of 60 keys whose files are small but real."""
    from agentic_rl.config.flat import FlatConfig

    def write(name: str, text: str) -> Path:
        path = folder / name
        path.write_text(text)
        path.chmod(0o640)
        return path

    model = folder / "model"
    model.mkdir(mode=0o750)
    write("model/config.json", "{}")
    agent = write(
        "agent.py",
        "from agentic_rl import BaseEngineWrapper\n\n\nclass Mine(BaseEngineWrapper):\n"
        "    def generate_agent_trajectories_async(self, tasks):\n        return []\n",
    )
    rows = write("rows.parquet", "PAR1")
    lines = [
        f"tokenizer_name_or_path: {model}",
        f"agent_engine_wrapper_path: {agent}",
        "agent_name: mine",
        "train_backend: verl",
        "entropy_coeff: 0.01",
        *_defaults(FlatConfig, 30),
        "verl:",
        f"  train_files: {rows}",
        f"  val_files: {rows}",
    ]
    section = FlatConfig.model_fields["verl"].annotation.__args__[0]
    lines += [f"  {line}" for line in _defaults(section, 60 - (len(lines) - 1))]
    return write("config.yaml", "\n".join(lines) + "\n")


def _defaults(model: type, count: int) -> list[str]:
    """`key: default` for the first scalars of a model that are not written above."""
    lines = [
        f"{name}: {str(field.default).lower() if isinstance(field.default, bool) else field.default}"
        for name, field in model.model_fields.items()
        if isinstance(field.default, int | float | str) and name not in ("entropy_coeff", "ppo_mini_batch_size")
    ]
    return lines[:count]


def main() -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        folder.chmod(0o750)
        path = sixty_keys(folder)
        agentic_rl = [sys.executable, "-m", "agentic_rl"]
        costs = alternate(
            {
                "import pydantic, yaml": [sys.executable, "-c", BASELINE],
                "--help": [*agentic_rl, "--help"],
                "check, 60 keys": [*agentic_rl, "check", str(path)],
                "check, one override": [*agentic_rl, "check", str(path), "lr=1e-5"],
            },
            rounds=9,
        )
    base = costs["import pydantic, yaml"].cpu_seconds
    print(f"{'command':24}{'CPU s':>8}{'ratio':>8}{'MiB':>8}{'exit':>6}")
    for name, cost in costs.items():
        print(f"{name:24}{cost.cpu_seconds:8.3f}{cost.cpu_seconds / base:8.2f}{cost.peak_mib:8.1f}{cost.returncode:6}")


if __name__ == "__main__":
    main()
