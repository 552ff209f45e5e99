"""What the adapter decides in a configuration that was written in verl's own keys, and what it says of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agentic_rl.backends.verl.assignments import Assignment
from agentic_rl.backends.verl.instances.agents import AgentSettings
from agentic_rl.backends.verl.instances.findings import MANAGER, TRANSLATED
from agentic_rl.backends.verl.instances.tree import DEVICES
from agentic_rl.backends.verl.mapping import ALWAYS, BY_DEVICE, Engine, Fixed, Setting
from agentic_rl.config.agent_places import place_problem
from agentic_rl.config.aura.schema import VerlConf
from agentic_rl.config.diagnostics import Finding
from agentic_rl.config.fields.wording import show
from agentic_rl.config.rules import Page

ROLLOUT = "actor_rollout_ref.rollout"
MODEL = "actor_rollout_ref.model"
MANAGER_KEY = f"{ROLLOUT}.agent.agent_loop_manager_class"
WORKERS = f"{ROLLOUT}.agent.num_workers"
FOREIGN = ("aura.", "agentic_rl.")
"""Packages whose classes ran agents where this format comes from."""
_KEPT = (
    WORKERS,
    "attn_implementation",
    "data.dataloader_num_workers",
    "default_local_dir",
    "ray_kwargs.",
    "reward.num",
)
"""Parts of keys that stay as a person wrote them."""
_MOST_KEPT = ("trainer.max_actor_ckpt_to_keep", "trainer.max_critic_ckpt_to_keep")


@dataclass
class Decided:
    """Assignments, and findings by verl's keys."""

    given: list[Assignment] = field(default_factory=list)
    said: list[Finding] = field(default_factory=list)

    def set(self, key: str, value: Any, *, added: bool = False) -> None:
        """Assign a key of verl."""
        self.given.append(Assignment(key, value, added))

    def say(self, page: Page, key: str, message: str, hint: str = "") -> None:
        """Say something about a key of verl."""
        self.said.append(Finding(page.code, page.severity, key, message, hint))


def decide(conf: VerlConf, setting: Setting, engine: Engine, agent: AgentSettings | None) -> Decided:
    """What comes on top of the file's own values.

    Args:
        conf: the file's configuration of verl.
        setting: `written` has verl's keys that a person wrote.
        engine: the training engine of the template.
        agent: the agent instance.
    """
    decided = Decided()
    _fix(decided, conf, setting, engine)
    decided.set("trainer.device", DEVICES[conf.trainer.device])
    for key in _MOST_KEPT:
        decided.set(key, None)  # what is kept is counted here, over all starts of the run
    if agent is not None:
        _take_agent(decided, conf, setting, agent)
    _choose_manager(decided, conf)
    return decided


def own_manager(conf: VerlConf) -> bool:
    """Whether agents run in a class of the user's own."""
    given = conf.actor_rollout_ref.rollout.agent.agent_loop_manager_class
    return bool(given) and not str(given).startswith(FOREIGN)


def _fix(decided: Decided, conf: VerlConf, setting: Setting, engine: Engine) -> None:
    values = flat_values(conf)
    for fixed, value in _fixed(conf, setting, engine):
        if fixed.key in setting.written:
            if any(part in fixed.key for part in _KEPT):
                continue
            if values.get(fixed.key) != value:
                where = f"device: {setting.device}" if fixed not in ALWAYS else "this package"
                message = f"{show(values.get(fixed.key))} is read as {show(value)}, which {where} needs: {fixed.reason}"
                decided.say(TRANSLATED, fixed.key, message)
        decided.set(fixed.key, value, added=fixed.added)


def _fixed(conf: VerlConf, setting: Setting, engine: Engine) -> Iterator[tuple[Fixed, Any]]:
    for fixed in (*ALWAYS, *BY_DEVICE.get(setting.device, ())):
        critic = fixed.key.startswith("critic.") and conf.algorithm.adv_estimator != "gae"
        if fixed.of_flat or critic or fixed.engine not in ("any", engine):
            continue
        value = fixed.value(setting)
        if value is not None:
            yield fixed, value


def flat_values(conf: VerlConf) -> dict[str, Any]:
    """Dotted key -> value of the file's configuration of verl."""
    from agentic_rl.backends.verl.instances.tree import leaves

    return dict(leaves(conf.native()))


def _take_agent(decided: Decided, conf: VerlConf, setting: Setting, agent: AgentSettings) -> None:
    decided.set(f"{ROLLOUT}.agent.default_agent_loop", agent.name)
    executors = agent.instance.executor_num
    if executors > 1 and WORKERS not in setting.written:
        decided.set(WORKERS, executors)
    path = conf.actor_rollout_ref.model.path or ""
    if Path(agent.tokenizer).absolute() != Path(path).absolute():
        decided.set(f"{MODEL}.tokenizer_path", str(Path(agent.tokenizer).absolute()))
    values = flat_values(conf)
    for name, value in agent.sampling().items():
        key = f"{ROLLOUT}.{name}"
        if key in setting.written and values.get(key) != value:
            message = f"{show(values.get(key))} here, {show(value)} in the agent's infer_service_params, which samples"
            decided.say(TRANSLATED, key, message, f"{name}: {show(value)}")
        decided.set(key, value)


def _choose_manager(decided: Decided, conf: VerlConf) -> None:
    given = conf.actor_rollout_ref.rollout.agent.agent_loop_manager_class
    if not given:
        return
    if not own_manager(conf):
        decided.set(MANAGER_KEY, None)
        message = f"{given} is read as this package's own agent loop, which runs the agent instance"
        decided.say(TRANSLATED, MANAGER_KEY, message)
        return
    module, _, name = given.rpartition(".")
    problem = place_problem(f"{module}:{name}") if module else (f"{given!r} is no dotted path of a class", "")
    if problem:
        words, _ = problem
        hint = "install its package, put its folder on the PYTHONPATH, or remove the key: agents then run in verl's own"
        decided.say(MANAGER, MANAGER_KEY, f"{given}: {words}", hint)
