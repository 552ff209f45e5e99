"""The places of verl 0.9.1 that read most of the keys."""

from __future__ import annotations

from agentic_rl.backends.verl.mapping.entry import Reader

_TRAINER = "trainer/ppo/v1/trainer_base.py"
_AGENT_LOOP = "trainer/ppo/v1/agent_loop_tq.py"
_FSDP = "workers/engine/fsdp/transformer_impl.py"
_LOSSES = "workers/utils/losses.py"
_SERVER = "workers/rollout/vllm_rollout/vllm_async_server.py"


def trainer(expression: str) -> Reader:
    """Read by the trainer's own process."""
    return Reader(_TRAINER, expression)


def agent_loop(expression: str) -> Reader:
    """Read by the workers that run agent loops."""
    return Reader(_AGENT_LOOP, expression)


def fsdp(expression: str) -> Reader:
    """Read by the FSDP engine, which trains actor and critic."""
    return Reader(_FSDP, expression)


def losses(expression: str) -> Reader:
    """Read where the actor's loss is computed."""
    return Reader(_LOSSES, expression)


def algorithms(expression: str) -> Reader:
    """Read by the policy losses and the KL controller."""
    return Reader("trainer/ppo/core_algos.py", expression)


def server(expression: str) -> Reader:
    """Read where vLLM is started."""
    return Reader(_SERVER, expression)


def workers(expression: str) -> Reader:
    """Read where a worker builds its engine."""
    return Reader("workers/engine_workers.py", expression)


def optimizer(expression: str) -> Reader:
    """Read where the optimizer is built."""
    return Reader("workers/config/optimizer.py", expression)


def megatron(expression: str) -> Reader:
    """Read where Megatron's optimizer and its schedule are built."""
    return Reader("utils/megatron/optimizer.py", expression)


def checkpoints(expression: str) -> Reader:
    """Read by the manager of checkpoints."""
    return Reader("utils/checkpoint/checkpoint_manager.py", expression)
