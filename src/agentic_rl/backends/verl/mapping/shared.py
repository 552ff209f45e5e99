"""The shared level of the flat format on verl: run, inference, and the keys that are ours."""

from __future__ import annotations

from agentic_rl.backends.verl.mapping.dead import dead
from agentic_rl.backends.verl.mapping.entry import CRITIC, MODEL, ROLLOUT, Entry, Native, Reader, adapter, native
from agentic_rl.backends.verl.mapping.readers import agent_loop, server, trainer
from agentic_rl.config.flat.schema import FlatConfig

DEVICES = {"npu": "npu", "gpu": "cuda", "cpu": "cpu"}
"""Our word for a kind of device -> verl's."""

_PATH = Reader("workers/config/model.py", "copy_to_local(self.path, use_shm=self.use_shm)")
_CODE = Reader("workers/config/model.py", "self.trust_remote_code")
_SAMPLER = Reader("trainer/ppo/utils.py", "data_config.get('seed')")
_SAMPLING = "the agent loop samples with it; verl computes its probabilities from it too"


def _loggers(config: FlatConfig) -> list[str]:
    return ["console", "tensorboard"] if config.use_tensorboard else ["console"]


def _validates_first(config: FlatConfig) -> bool:
    return config.evaluates_before_training or config.evaluates_only


VAL_ONLY = Native(
    "trainer.val_only",
    trainer("self.config.trainer.get('val_only', False)"),
    lambda config: config.evaluates_only,
    "`test_only` or `val_only`",
)
VAL_BEFORE_TRAIN = Native(
    "trainer.val_before_train",
    trainer("self.config.trainer.get('val_before_train', True)"),
    _validates_first,
    "`test_before_train` or `val_before_train`, or a run that only evaluates",
)

RUN: tuple[Entry, ...] = (
    native(
        "tokenizer_name_or_path",
        Native(f"{MODEL}.path", _PATH),
        Native(f"{CRITIC}.model.path", _PATH),
        note="the critic starts from the actor's own model",
    ),
    dead("model_name"),
    native(
        "agent_name",
        Native(f"{ROLLOUT}.agent.default_agent_loop", agent_loop("config.agent.default_agent_loop")),
        note="an `agent_name` in a row of the data chooses another agent for that row",
    ),
    adapter("agent_engine_wrapper_path", "the agent loop loads the file in verl's processes"),
    adapter("train_backend", "chooses this adapter"),
    adapter("use_stepwise_advantage", "the agent loop hands over each turn or the whole trajectory as a sample"),
    native("num_gpus_per_node", Native("trainer.n_gpus_per_node", trainer("config.trainer.n_gpus_per_node"))),
    adapter("max_steps", "the agent loop ends a trajectory after so many turns"),
    dead("dataset_additional_keys"),
    native(
        "use_tensorboard",
        Native("trainer.logger", trainer("self.config.trainer.logger"), _loggers, "`tensorboard` joins `console`"),
    ),
    native("test_only", VAL_ONLY, VAL_BEFORE_TRAIN, note="verl reads `val_only` after a validation before training"),
    native("test_before_train", VAL_BEFORE_TRAIN),
)

INFERENCE: tuple[Entry, ...] = (
    native(
        "infer_tensor_parallel_size",
        Native(f"{ROLLOUT}.tensor_model_parallel_size", server("self.config.tensor_model_parallel_size")),
    ),
    dead("infer_pipeline_parallel_size"),
    dead("infer_expert_parallel_size"),
    native("max_num_seqs", Native(f"{ROLLOUT}.max_num_seqs", server("self.config.max_num_seqs"))),
    native(
        "max_num_batched_tokens",
        Native(f"{ROLLOUT}.max_num_batched_tokens", server("self.config.max_num_batched_tokens")),
    ),
    native("max_model_len", Native(f"{ROLLOUT}.max_model_len", server("self.config.max_model_len"))),
    native(
        "gpu_memory_utilization",
        Native(f"{ROLLOUT}.gpu_memory_utilization", server("self.config.gpu_memory_utilization")),
    ),
    native("dtype", Native(f"{ROLLOUT}.dtype", server("self.config.dtype"))),
    native(
        "enforce_eager",
        Native(f"{ROLLOUT}.enforce_eager", server("self.config.enforce_eager")),
        note="always true with `device: cpu`",
    ),
    native(
        "max_prompt_length",
        Native(
            "data.max_prompt_length",
            Reader("experimental/agent_loop/agent_loop.py", "self.rollout_config.prompt_length"),
            through=(f"{ROLLOUT}.prompt_length",),
        ),
        note="the agent loop cuts or refuses longer prompts, as `truncation` says",
    ),
    adapter("max_tokens", "the agent loop asks for at most so many tokens in a turn"),
    native("rollout_n", Native(f"{ROLLOUT}.n", agent_loop("config.n"))),
    native(
        "temperature",
        Native(f"{ROLLOUT}.temperature", trainer("self.config.actor_rollout_ref.rollout.temperature")),
        note=_SAMPLING,
    ),
    native(
        "top_k",
        Native(
            f"{ROLLOUT}.top_k",
            agent_loop("config.top_k"),
            lambda config: config.top_k if config.top_k > 0 else -1,
            "-1 for no limit, which may be written 0 here",
        ),
    ),
    native("top_p", Native(f"{ROLLOUT}.top_p", agent_loop("config.top_p"))),
    adapter("min_p", "the agent loop samples with it; verl has no key for it"),
)

OWN: tuple[Entry, ...] = (
    native(
        "device",
        Native(
            "trainer.device",
            trainer("self.config.trainer.device"),
            lambda config: DEVICES[config.device],
            "`gpu` is `cuda` there; `auto` is what this machine has",
        ),
        note="`cpu` sets further keys, listed below",
    ),
    native(
        "seed",
        Native("data.seed", _SAMPLER),
        Native(
            "actor_rollout_ref.actor.data_loader_seed",
            trainer("self.config.actor_rollout_ref.actor.data_loader_seed"),
        ),
        Native("actor_rollout_ref.rollout.seed", server("self.config.seed")),
        Native("critic.data_loader_seed", trainer("self.config.critic.data_loader_seed")),
        Native(
            "actor_rollout_ref.actor.megatron.seed",
            Reader("workers/engine/megatron/transformer_impl.py", "self.engine_config.seed"),
            engine="megatron",
        ),
        note="orders the data; requests carry no seed, so that runs differ token by token",
    ),
    adapter("keep_checkpoints", "counts those of earlier starts too, which verl does not"),
    adapter("n_parallel_agents", "divided among verl's agent-loop workers, at least 1 in each"),
    adapter("enable_thinking", "the agent loop's chat template has it as a variable"),
    adapter("tool_parser", "the agent loop reads tool calls in this format"),
    adapter("sandbox", "the agent loop's tool `python` keeps code apart as strongly, or refuses"),
    adapter("search", "the agent loop's agents search there"),
    adapter("search_topk", "the agent loop's agents are shown so many passages"),
    adapter("turn_timeout", "the agent loop ends a call of the model or of a tool"),
    adapter("trajectory_timeout", "the agent loop ends a trajectory"),
    adapter("max_failed_fraction", "the trainer stops the run before it learns from such a step"),
)

UNDOCUMENTED: tuple[Entry, ...] = (
    dead("num_node"),
    dead("actor_rollout_dispatch_size"),
    native(
        "enable_prefix_caching",
        Native(f"{ROLLOUT}.enable_prefix_caching", server("self.config.enable_prefix_caching")),
    ),
    dead("num_scheduler_steps"),
    dead("offload_train_optimizer"),
    dead("offload_train_grad"),
    dead("offload_train_param"),
    dead("enable_expert_parallel"),
    native(
        "trust_remote_code",
        Native(f"{MODEL}.trust_remote_code", _CODE),
        Native(f"{CRITIC}.model.trust_remote_code", _CODE),
    ),
)
