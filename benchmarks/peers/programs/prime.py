"""prime-pydantic-config: a pydantic model, read with `@ FILE`."""

import sys
from typing import Annotated, Literal

from pydantic import Field, FilePath
from pydantic_config import BaseConfig, cli

Positive = Annotated[int, Field(gt=0)]


class Verl(BaseConfig):
    """The keys of the section."""

    train_files: FilePath
    val_files: FilePath
    train_batch_size: Positive = 32
    ppo_mini_batch_size: Positive = 16
    nnodes: Positive = 1
    adv_estimator: Literal["grpo", "gae", "rloo"] = "grpo"
    use_kl_loss: bool = False


class Config(BaseConfig):
    """The keys of the file."""

    tokenizer_name_or_path: str
    agent_name: str
    train_backend: Literal["verl", "mindspeed_rl", "local"]
    verl: Verl
    lr: Annotated[float, Field(gt=0)] = 1e-6
    temperature: Annotated[float, Field(gt=0)] = 1.0
    top_p: Annotated[float, Field(gt=0, le=1)] = 1.0
    rollout_n: Positive = 8
    max_steps: Positive = 1
    max_tokens: Positive = 512
    seed: int = 1
    test_only: bool = False
    entropy_coeff: float = 0.001
    use_kl_in_reward: bool = False


print(cli(Config, args=["@", sys.argv[1]]))
