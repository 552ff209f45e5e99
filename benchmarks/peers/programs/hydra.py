"""hydra: a structured configuration as the schema of the file, composed from the file's folder."""

import sys
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

sys.path.pop(0)  # this file's folder: its name is the package's
from hydra import compose, initialize_config_dir
from hydra.core.config_store import ConfigStore
from omegaconf import MISSING, OmegaConf


class Backend(Enum):
    """The choices of train_backend."""

    verl = 1
    mindspeed_rl = 2
    local = 3


class Estimator(Enum):
    """The choices of adv_estimator."""

    grpo = 1
    gae = 2
    rloo = 3


@dataclass
class Verl:
    """The keys of the section."""

    train_files: str = MISSING
    val_files: str = MISSING
    train_batch_size: int = 32
    ppo_mini_batch_size: int = 16
    nnodes: int = 1
    adv_estimator: Estimator = Estimator.grpo
    use_kl_loss: bool = False


@dataclass
class Config:
    """The keys of the file."""

    tokenizer_name_or_path: str = MISSING
    agent_name: str = MISSING
    train_backend: Backend = MISSING
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
    verl: Verl = field(default_factory=Verl)


file = Path(sys.argv[1])
ConfigStore.instance().store(name="schema", node=Config)
text = file.read_text()
with initialize_config_dir(str(file.parent), version_base=None):
    file.write_text(f"defaults: [schema, _self_]\n{text}")  # what hydra's own documentation asks for
    try:
        config = compose(file.stem)
    finally:
        file.write_text(text)
print(OmegaConf.to_container(config, throw_on_missing=True))
