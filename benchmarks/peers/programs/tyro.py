"""tyro: a dataclass read from a command line; the file's keys become its options, as it reads no files itself."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import yaml

sys.path.pop(0)  # this file's folder: its name is the package's
import tyro


@dataclass
class Verl:
    """The keys of the section."""

    train_files: Path
    val_files: Path
    train_batch_size: int = 32
    ppo_mini_batch_size: int = 16
    nnodes: int = 1
    adv_estimator: Literal["grpo", "gae", "rloo"] = "grpo"
    use_kl_loss: bool = False


@dataclass
class Config:
    """The keys of the file."""

    tokenizer_name_or_path: str
    agent_name: str
    train_backend: Literal["verl", "mindspeed_rl", "local"]
    verl: Verl
    lr: float = 1e-6
    temperature: float = 1.0
    top_p: float = 1.0
    rollout_n: int = 8
    max_steps: int = 1
    max_tokens: int = 512
    seed: int = 1
    test_only: bool = False
    entropy_coeff: float = 0.001
    use_kl_in_reward: bool = False


def options(tree: dict[str, object], prefix: str = "") -> list[str]:
    """`--key value` for every key."""
    listed: list[str] = []
    for key, value in tree.items():
        if isinstance(value, dict):
            listed += options(value, f"{prefix}{key}.")
        else:
            listed += [f"--{prefix}{key}", str(value)]
    return listed


marked = tyro.conf.FlagConversionOff[Config]
print(tyro.cli(marked, args=options(yaml.safe_load(Path(sys.argv[1]).read_text()))))
