"""Every documented key of the format, and what becomes of it in a run of verl."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from agentic_rl.backends.verl.instances.agents import ENVIRONMENT, FURTHER, PARAMETERS, AgentSettings
from agentic_rl.backends.verl.instances.findings import NO_EFFECT, TRANSLATED
from agentic_rl.backends.verl.instances.parts import Parts
from agentic_rl.config.diagnostics import Finding, Severity
from agentic_rl.config.fields.wording import show

Kind = Literal["native", "adapter", "reference", "mode", "none"]
"""verl reads it; the adapter obeys it; it names another part; another mode of the program reads it; without effect."""

_SINGLE = "verl trains with one trainer, whatever the number"
_COUNTED = "verl takes the devices that trainer.n_gpus_per_node and trainer.nnodes count"
_OWN_ENGINES = "verl infers with engines of its own, on"
_PROXY = "asked by serve mode"

TRAIN: dict[str, tuple[Kind, str]] = {
    "name": ("reference", "names the run"),
    "executor_num": ("none", _SINGLE),
    "executor_kwargs.cluster_mode": ("adapter", "`one_step_off` trains and infers on devices of their own"),
    "executor_kwargs.train_engine": ("adapter", "chooses this adapter"),
    "executor_kwargs.train_config": ("native", "the configuration of verl"),
    "executor_kwargs.rollout_config": ("none", "rollouts are set up by `verl_conf` and the agent instance"),
    "executor_kwargs.agent_service": ("reference", "names the agent instance"),
    "executor_kwargs.infer_service": ("reference", "names the inference instance"),
    "resource_info": ("none", _COUNTED),
}
AGENT: dict[str, tuple[Kind, str]] = {
    "name": ("reference", "named by train instances"),
    "executor_num": ("native", "above 1: processes that run agents, `rollout.agent.num_workers`"),
    "executor_kwargs.agent_engine": ("adapter", "agents of the package of that name are found, too"),
    "executor_kwargs.agent_engine_kwargs.agent_name": ("native", "`rollout.agent.default_agent_loop`"),
    "executor_kwargs.agent_engine_kwargs.simplify_think_content": (
        "adapter",
        "earlier thoughts are not shown",
    ),
    "executor_kwargs.agent_engine_kwargs.max_steps": ("adapter", "turns of a trajectory"),
    "executor_kwargs.agent_engine_kwargs.max_prompt_length": ("adapter", "at most `rollout.prompt_length`"),
    "executor_kwargs.agent_engine_kwargs.max_model_len": ("adapter", "at most `rollout.max_model_len`"),
    "executor_kwargs.agent_engine_kwargs.n_parallel_agents": ("adapter", "divided among the agent-loop workers"),
    "executor_kwargs.agent_engine_kwargs.tokenizer": ("native", "`model.tokenizer_path`, where it is another folder"),
    "executor_kwargs.infer_service_params": (
        "native",
        "`rollout.temperature`, `top_p`, `top_k`; the rest by the agent",
    ),
    "executor_kwargs.trajectory_save_dir": ("adapter", "rollouts are written there as well"),
    "resource_info": ("none", _COUNTED),
}
INFER: dict[str, tuple[Kind, str]] = {
    "name": ("reference", "named by train and agent instances"),
    "executor_num": ("mode", _PROXY),
    "executor_kwargs.engine": ("mode", _PROXY),
    "executor_kwargs.engine_kwargs.chat_server": ("mode", _PROXY),
    "executor_kwargs.engine_kwargs.prefill_server_list": ("mode", _PROXY),
    "executor_kwargs.engine_kwargs.decode_server_list": ("mode", _PROXY),
    "executor_kwargs.engine_kwargs.model_name": ("mode", _PROXY),
    "resource_info": ("none", _COUNTED),
}
NOT_READ = {
    "actor_rollout_ref.rollout.do_sample": "verl's rollouts sample as temperature says; 0 takes the likeliest token",
}
"""Documented keys of `verl_conf` that verl takes and never reads in a training rollout."""
IN_FORCE = ("token_in_token_out",)
"""Further keys of `agent_engine_kwargs` that say what holds anyway."""


@dataclass(frozen=True)
class _Speaker:
    parts: Parts
    conf_key: str

    def said(self, key: str, message: str, hint: str = "", severity: Severity = "warning") -> Finding:
        return Finding(NO_EFFECT.code, severity, key, message, hint)


def without_effect(
    parts: Parts, conf_key: str, agent: AgentSettings | None, wrote: Any, values: Mapping[str, Any]
) -> Iterator[Finding]:
    """Keys that somebody wrote and that change nothing in this run.

    Args:
        parts: the instances.
        conf_key: the dotted key of the configuration of verl.
        agent: reads the agent instance.
        wrote: whether a person wrote a dotted key.
        values: the configuration of verl by dotted key.
    """
    say = _Speaker(parts, conf_key).said
    train, kwargs = parts.train, parts.train.executor_kwargs
    if train.executor_num > 1:
        yield say(
            f"{parts.train_key}.executor_num", f"{train.executor_num} has no effect: {_SINGLE}", "executor_num: 1"
        )
    if train.resource_info:
        yield say(f"{parts.train_key}.resource_info", f"no effect on verl: {_COUNTED}", "resource_info: []")
    for name, value in kwargs.rollout_config.items():
        if not (name == "use_on_policy" and bool(value) == (kwargs.cluster_mode == "hybrid")):
            message = f"{name} has no effect on verl: {TRAIN['executor_kwargs.rollout_config'][1]}"
            yield say(f"{parts.kwargs_key}.rollout_config.{name}", message, f"remove {name}")
    for key, why in NOT_READ.items():
        full = f"{conf_key}.{key}"
        if wrote(full) and values.get(key) is False:
            yield say(full, f"false has no effect: {why}", "temperature: 0 in infer_service_params", "note")
    if agent is not None:
        yield from _of_agent(parts, agent, say)
    if parts.infer is not None:
        where = "the devices of `trainer`" if kwargs.cluster_mode == "hybrid" else "devices apart from those that train"
        message = f"{parts.infer.name} is not asked while this trains: {_OWN_ENGINES} {where}"
        yield say(parts.infer_key, message, "", "note")


def _of_agent(parts: Parts, agent: AgentSettings, say: Any) -> Iterator[Finding]:
    key = f"{parts.agent_kwargs_key}.agent_engine_kwargs"
    if agent.instance.resource_info:
        yield say(f"{parts.agent_key}.resource_info", f"no effect on verl: {_COUNTED}", "resource_info: []")
    for name, value in agent.further.items():
        if name in IN_FORCE and value is not True:
            yield say(f"{key}.{name}", f"{show(value)} has no effect: tokens go in and come out", f"{name}: true")
        elif name not in FURTHER and name not in IN_FORCE:
            yield say(f"{key}.{name}", f"{name} has no effect on this package's agents", f"remove {name}")
    for name in agent.environment:
        if name not in ENVIRONMENT:
            yield say(f"{key}.env_args.{name}", f"{name} has no effect on this package's agents", f"remove {name}")
    for name in agent.parameters:
        if name not in PARAMETERS:
            where = f"{parts.agent_kwargs_key}.infer_service_params.{name}"
            yield say(where, f"{name} has no effect: rollouts sample by {', '.join(PARAMETERS[:-1])}", f"remove {name}")


def engine_note(parts: Parts, agent: AgentSettings) -> Finding:
    """What `agent_engine` means here."""
    message = f"{agent.engine}: the agent {agent.name} runs on this package's own driver, which records every token"
    return Finding(TRANSLATED.code, "note", f"{parts.agent_kwargs_key}.agent_engine", message)
