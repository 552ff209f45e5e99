"""The instances: what trains, what acts, what infers."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from agentic_rl.config.aura.schema.section import Addresses, Closed, Instance, Section
from agentic_rl.config.types import AnyPath, PositiveInt, Text

ClusterMode = Literal["hybrid", "one_step_off", "fully_async", "dummy_train"]
TrainEngine = Literal["verl", "mindspeed_rl"]
Name = Annotated[str, Field(min_length=1, examples=["unnamed"])]


class TrainKwargs(Closed):
    """`train_instances[].executor_kwargs`."""

    cluster_mode: Annotated[ClusterMode, Field(examples=["hybrid"])]
    """`hybrid`: training and inference share devices; `one_step_off`: they are apart. Released since: `fully_async`,
    `dummy_train`, and the name `work_mode` for the key."""
    train_engine: TrainEngine = "verl"
    """What trains. Released too as `rl_framework`."""
    train_config: dict[str, Any] | None = None
    """The engine's configuration, a reference to `verl_conf` or `msrl_conf`. Released too as `rl_framework_kwargs`."""
    rollout_config: dict[str, Any] = Field(default={})
    """Further settings of rollouts."""
    agent_service: Text | None = None
    """Name of an agent instance."""
    infer_service: Text | None = None
    """Name of an inference instance."""


class TrainInstance(Instance):
    """One item of `train_instances`."""

    name: Name
    """Name, unique among all instances."""
    executor_kwargs: TrainKwargs
    """How it trains, with what, on whose answers."""


class AgentEngineKwargs(Section):
    """`agent_instances[].executor_kwargs.agent_engine_kwargs`."""

    agent_name: Annotated[Text, Field(min_length=1, examples=["math"])]
    """A built-in or registered agent."""
    simplify_think_content: bool = False
    """Leave earlier thoughts out of what the policy reads."""
    max_steps: PositiveInt = 5
    """Turns that the policy may take in one trajectory."""
    max_prompt_length: PositiveInt = 2048
    """Tokens of the longest prompt."""
    max_model_len: PositiveInt = 4096
    """Tokens of the longest sequence."""
    n_parallel_agents: PositiveInt = 1024
    """Trajectories in flight at the same time."""
    tokenizer: Annotated[AnyPath, Field(examples=["/tmp"])]  # noqa: S108 - stands in for a value that is missing
    """Folder of the tokenizer."""


class AgentKwargs(Section):
    """`agent_instances[].executor_kwargs`."""

    agent_engine: Annotated[Text, Field(min_length=1, examples=["rllm"])]
    """What runs agents: `rllm`, ..."""
    agent_engine_kwargs: AgentEngineKwargs
    """The agent and its limits."""
    infer_service_params: dict[str, Any] = Field(default={})
    """Sampling: `top_p`, `temperature`, `max_tokens`; and `model`, the name of an inference instance."""
    trajectory_save_dir: AnyPath | None = None
    """Where trajectories are written."""


class AgentInstance(Instance):
    """One item of `agent_instances`."""

    name: Name
    """Name, unique among all instances."""
    executor_kwargs: AgentKwargs
    """The agent and what it is run by."""


class EngineKwargs(Section):
    """`infer_instances[].executor_kwargs.engine_kwargs`."""

    chat_server: Addresses | None = None
    """Address of the server, or several; required by `vllm_proxy`."""
    prefill_server_list: Addresses = Field(default=[])
    """Servers that only prefill."""
    decode_server_list: Addresses = Field(default=[])
    """Servers that only decode."""
    model_name: Text | None = None
    """Name under which the server offers the model; required by `vllm_proxy`."""


class InferKwargs(Section):
    """`infer_instances[].executor_kwargs`."""

    engine: Annotated[Text, Field(min_length=1)] = "vllm_proxy"
    """`vllm_proxy`: a server that is there already; released too: `vllm_mp`, `vllm_ray`, `vllm_external`."""
    engine_kwargs: EngineKwargs = Field(default_factory=EngineKwargs)
    """Addresses and options of the engine."""


class InferInstance(Instance):
    """One item of `infer_instances`."""

    name: Name
    """Name, unique among all instances."""
    executor_kwargs: InferKwargs = Field(default_factory=InferKwargs)
    """The engine."""
