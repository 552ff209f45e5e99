"""Which instances of a file make one run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from agentic_rl.backends.errors import InstanceError
from agentic_rl.config.aura.schema import AgentInstance, AuraConfig, InferInstance, TrainInstance, VerlConf
from agentic_rl.config.aura.schema.section import Instance

Kind = TypeVar("Kind", bound=Instance)


@dataclass(frozen=True)
class Parts:
    """A train instance with what it refers to; each with its dotted key."""

    train: TrainInstance
    train_key: str
    agent: AgentInstance | None
    agent_key: str
    infer: InferInstance | None
    infer_key: str

    @property
    def kwargs_key(self) -> str:
        """Of the train instance's settings."""
        return f"{self.train_key}.executor_kwargs"

    @property
    def agent_kwargs_key(self) -> str:
        """Of the agent instance's settings."""
        return f"{self.agent_key}.executor_kwargs"

    @property
    def engine(self) -> str:
        """What trains."""
        return self.train.executor_kwargs.train_engine


def train_instance(config: AuraConfig, name: str | None = None) -> tuple[TrainInstance, str]:
    """The train instance called `name`, and its key; without a name the only one, or that of the only entrypoint.

    Raises:
        InstanceError: there is none, or several.
    """
    jobs = {job.job_name for job in config.direct_conf.entrypoints}
    wanted = name or (jobs.pop() if len(jobs) == 1 else None)
    found = _named(config.train_instances, "train_instances", wanted)
    if found is not None:
        return found
    names = [one.name for one in config.train_instances]
    if not names:
        raise InstanceError("train_instances: there is none, so there is nothing to train", "add a train instance")
    if wanted is None:
        raise InstanceError(f"train_instances: {', '.join(names)}: which one trains?", f"--instance {names[0]}")
    raise InstanceError(f"train_instances: none is called {wanted!r}", f"one of {', '.join(names)}")


def parts_of(config: AuraConfig, conf: VerlConf | None, name: str | None = None) -> Parts:
    """The instances of one run; `conf` names services where the train instance does not.

    Raises:
        InstanceError: no train instance, or several without a name.
    """
    train, train_key = train_instance(config, name)
    kwargs, extras = train.executor_kwargs, conf.extras if conf else None
    agent_name = kwargs.agent_service or (extras.agent_service if extras else None)
    infer_name = kwargs.infer_service or (extras.infer_service if extras else None)
    agent = _named(config.agent_instances, "agent_instances", agent_name)
    infer = _named(config.infer_instances, "infer_instances", infer_name)
    return Parts(train, train_key, *(agent or (None, "agent_instances")), *(infer or (None, "infer_instances")))


def _named(instances: Sequence[Kind], key: str, name: str | None) -> tuple[Kind, str] | None:
    """The instance of that name; without a name the only one."""
    for place, one in enumerate(instances):
        if getattr(one, "name", None) == name or (name is None and len(instances) == 1):
            return one, f"{key}[{place}]"
    return None
