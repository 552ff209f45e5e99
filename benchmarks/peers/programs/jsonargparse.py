"""jsonargparse: a dataclass, its restricted numbers and path types, read with `--config FILE`."""

import sys
from dataclasses import dataclass
from typing import Literal

sys.path.pop(0)  # this file's folder: its name is the package's
from jsonargparse import ArgumentParser
from jsonargparse.typing import ClosedUnitInterval, Path_fr, PositiveFloat, PositiveInt


@dataclass
class Verl:
    """The keys of the section."""

    train_files: Path_fr
    val_files: Path_fr
    train_batch_size: PositiveInt = 32
    ppo_mini_batch_size: PositiveInt = 16
    nnodes: PositiveInt = 1
    adv_estimator: Literal["grpo", "gae", "rloo"] = "grpo"
    use_kl_loss: bool = False


parser = ArgumentParser()
parser.add_argument("--config", action="config")
parser.add_argument("--tokenizer_name_or_path", type=str, required=True)
parser.add_argument("--agent_name", type=str, required=True)
parser.add_argument("--train_backend", type=Literal["verl", "mindspeed_rl", "local"], required=True)
parser.add_argument("--lr", type=PositiveFloat, default=1e-6)
parser.add_argument("--temperature", type=PositiveFloat, default=1.0)
parser.add_argument("--top_p", type=ClosedUnitInterval, default=1.0)
parser.add_argument("--rollout_n", type=PositiveInt, default=8)
parser.add_argument("--max_steps", type=PositiveInt, default=1)
parser.add_argument("--max_tokens", type=PositiveInt, default=512)
parser.add_argument("--seed", type=int, default=1)
parser.add_argument("--entropy_coeff", type=float, default=0.001)
parser.add_argument("--test_only", type=bool, default=False)
parser.add_argument("--use_kl_in_reward", type=bool, default=False)
parser.add_argument("--verl", type=Verl, required=True)
print(parser.parse_args(["--config", sys.argv[1]]))
