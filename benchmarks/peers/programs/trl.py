"""TRL: its own GRPOConfig beside a dataclass of the remaining keys, read with `--config FILE`.

The keys that GRPOConfig knows by other names are renamed, so that its own checks see them.
"""

import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

sys.path.pop(0)  # this file's folder: its name is the package's
from trl import GRPOConfig, TrlParser

NAMES = {
    "lr": "learning_rate",
    "rollout_n": "num_generations",
    "train_batch_size": "generation_batch_size",
    "ppo_mini_batch_size": "per_device_train_batch_size",
    "max_tokens": "max_completion_length",
}


@dataclass
class Script:
    """The keys that TRL does not know."""

    tokenizer_name_or_path: str
    agent_name: str
    train_files: str
    val_files: str
    train_backend: Literal["verl", "mindspeed_rl", "local"] = "verl"
    adv_estimator: Literal["grpo", "gae", "rloo"] = "grpo"
    entropy_coeff: float = 0.001
    test_only: bool = False
    use_kl_in_reward: bool = False
    use_kl_loss: bool = False


def flat(text: str) -> str:
    """The file without its section (TRL's files have none), under TRL's names."""
    lines = (line.strip() for line in text.splitlines() if line != "verl:")
    pairs = (line.partition(":") for line in lines)
    return "".join(f"{NAMES.get(key, key)}:{rest}\n" for key, _, rest in pairs) + "use_cpu: true\nbf16: false\n"


with tempfile.TemporaryDirectory() as folder:
    file = Path(folder) / Path(sys.argv[1]).name
    file.write_text(flat(Path(sys.argv[1]).read_text()) + f"output_dir: {folder}\n")
    parser = TrlParser((Script, GRPOConfig))
    print(parser.parse_args_and_config(["--config", str(file)]))
