"""Data, batches, schedule and checkpoints of the section `verl`."""

from __future__ import annotations

from agentic_rl.backends.verl.mapping.dead import dead
from agentic_rl.backends.verl.mapping.entry import (
    ACTOR,
    CRITIC,
    REFERENCE,
    ROLLOUT,
    Entry,
    Native,
    Reader,
    adapter,
    native,
    uses_critic,
    verl_section,
)
from agentic_rl.backends.verl.mapping.readers import checkpoints, fsdp, trainer, workers
from agentic_rl.backends.verl.mapping.shared import VAL_BEFORE_TRAIN, VAL_ONLY
from agentic_rl.config.flat.schema import FlatConfig

_MEGATRON = "workers/engine/megatron/transformer_impl.py"
_SAVED = checkpoints("checkpoint_config.get('save_contents', None)")
_LOADED = checkpoints("checkpoint_config.get('load_contents', None)")
_UNLOADED = "without `hf_model`, which FSDP writes for others to read"


def _mini(config: FlatConfig) -> int:
    return verl_section(config).effective_ppo_mini_batch_size


def _loadable(config: FlatConfig) -> list[str]:
    return [part for part in verl_section(config).ckpt_content if part != "hf_model"]


def _offload(name: str) -> tuple[Native, ...]:
    """Both engines have the switch, below different names."""
    reader, other = fsdp(f"self.engine_config.{name}"), Reader(_MEGATRON, f"self.engine_config.{name}")
    return (
        Native(f"{ACTOR}.fsdp_config.{name}", reader, engine="fsdp"),
        Native(f"{CRITIC}.fsdp.{name}", reader, engine="fsdp"),
        Native(f"{ACTOR}.megatron.{name}", other, engine="megatron"),
        Native(f"{CRITIC}.megatron.{name}", other, engine="megatron"),
    )


SECTION: tuple[Entry, ...] = (
    native("verl.train_files", Native("data.train_files", trainer("self.config.data.train_files"))),
    native("verl.val_files", Native("data.val_files", trainer("self.config.data.val_files"))),
    native(
        "verl.project_name",
        Native("trainer.project_name", trainer("self.config.trainer.project_name")),
        note="part of `trainer.default_local_dir` too",
    ),
    native(
        "verl.experiment_name",
        Native("trainer.experiment_name", trainer("self.config.trainer.experiment_name")),
        note="part of `trainer.default_local_dir` too",
    ),
    native("verl.total_epochs", Native("trainer.total_epochs", trainer("self.config.trainer.total_epochs"))),
    native(
        "verl.total_training_steps",
        Native("trainer.total_training_steps", trainer("self.config.trainer.total_training_steps")),
    ),
    native(
        "verl.save_freq",
        Native("trainer.save_freq", trainer("self.config.trainer.save_freq")),
        note="the last step is saved too",
    ),
    native("verl.train_batch_size", Native("data.train_batch_size", trainer("self.config.data.train_batch_size"))),
    native("verl.val_batch_size", Native("data.val_batch_size", trainer("self.config.data.val_batch_size"))),
    native(
        "verl.ppo_mini_batch_size",
        Native(
            f"{ACTOR}.ppo_mini_batch_size",
            trainer("self.config.actor_rollout_ref.actor.ppo_mini_batch_size"),
            _mini,
            "at most `train_batch_size`",
            through=(f"{CRITIC}.ppo_mini_batch_size",),
        ),
    ),
    native(
        "verl.ppo_max_token_len_per_gpu",
        Native(
            f"{ACTOR}.ppo_max_token_len_per_gpu",
            workers("self.config.actor.ppo_max_token_len_per_gpu"),
            through=(f"{ROLLOUT}.log_prob_max_token_len_per_gpu", f"{REFERENCE}.log_prob_max_token_len_per_gpu"),
        ),
        Native(
            f"{CRITIC}.ppo_infer_max_token_len_per_gpu",
            trainer("critic_cfg.ppo_infer_max_token_len_per_gpu"),
            added=True,
        ),
        note="read with `use_dynamic_bsz`, which the adapter sets; of the critic's keys this one limits training too",
    ),
    native(
        "verl.ppo_epochs",
        Native(
            f"{ACTOR}.ppo_epochs",
            trainer("self.config.actor_rollout_ref.actor.ppo_epochs"),
            through=(f"{CRITIC}.ppo_epochs",),
        ),
    ),
    native(
        "verl.max_response_length",
        Native(
            "data.max_response_length",
            Reader("experimental/agent_loop/agent_loop.py", "self.rollout_config.response_length"),
            through=(f"{ROLLOUT}.response_length",),
        ),
    ),
    adapter("verl.truncation", "the agent loop cuts or refuses a prompt; verl's key of that name is not read"),
    native(
        "verl.adv_estimator",
        Native("algorithm.adv_estimator", trainer("self.config.algorithm.adv_estimator")),
        Native("critic.enable", Reader("trainer/ppo/utils.py", "config.critic.enable"), uses_critic, "true with `gae`"),
        note="`gae` adds a critic, which is set up as the actor is",
    ),
    native(
        "verl.ckpt_content",
        Native(f"{ACTOR}.checkpoint.save_contents", _SAVED),
        Native(f"{ACTOR}.checkpoint.load_contents", _LOADED, _loadable, _UNLOADED),
        Native(f"{CRITIC}.checkpoint.save_contents", _SAVED),
        Native(f"{CRITIC}.checkpoint.load_contents", _LOADED, _loadable, _UNLOADED),
    ),
    native("verl.val_before_train", VAL_BEFORE_TRAIN),
    native("verl.val_only", VAL_ONLY, VAL_BEFORE_TRAIN),
    native("verl.test_freq", Native("trainer.test_freq", trainer("self.config.trainer.test_freq"))),
    native("verl.nnodes", Native("trainer.nnodes", trainer("config.trainer.nnodes"))),
    native(
        "verl.dataloader_num_workers",
        Native("data.dataloader_num_workers", trainer("self.config.data['dataloader_num_workers']")),
        note="left at its default it is 0 with `device: cpu`",
    ),
    dead("verl.balance_batch"),
    adapter("verl.startup_timeout", "the launcher gives the whole start, until verl trains, so many seconds"),
    native("verl.fsdp_param_offload", *_offload("param_offload")),
    native("verl.fsdp_optimizer_offload", *_offload("optimizer_offload")),
)
