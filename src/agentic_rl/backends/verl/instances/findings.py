"""The numbered findings of runs of verl that the instances format describes."""

from __future__ import annotations

from agentic_rl.config.rules import describe

TRANSLATED = describe(
    "ARL550",
    "value of the instances format that means another one in verl",
    "note",
    "Some values of the format name what another program has, or what the chosen device can't do. They are read as "
    "what they mean: a class of the format's first program that ran agents becomes this package's own agent loop; "
    "without an accelerator FSDP is version 2; settings of the agent instance go to verl's own keys of sampling.",
)
NO_EFFECT = describe(
    "ARL551",
    "key of an instance without effect on verl",
    "warning",
    "verl trains with one trainer and its own inference engines on the devices that `trainer.n_gpus_per_node` and "
    "`trainer.nnodes` count. What describes other executors, or an inference server that is there already, is read in "
    "other modes, and changes nothing in this run.",
)
MANAGER = describe(
    "ARL552",
    "class that runs agents can't be found",
    "error",
    "`agent_loop_manager_class` is the dotted path of a class that verl imports in the process of its trainer. It has "
    "to be installed, or in a folder of PYTHONPATH, and to refine verl's AgentLoopManagerTQ. Without the key this "
    "package's agents run in verl's own.",
)
NO_AGENT = describe(
    "ARL553",
    "train instance without an agent",
    "error",
    "Rollouts are made by an agent: `executor_kwargs.agent_service` of the train instance names one of the "
    "`agent_instances`, which names the agent and its limits.",
)
AGENT = describe(
    "ARL554",
    "agent that nobody registered",
    "error",
    "`agent_name` is the name of a built-in agent, of one that an installed package offers, or of one registered with "
    "`register_agent`; or its place, `package.module:Class`. With `agent_engine: rllm` it may also be an agent of the "
    "package rllm, where that is installed.",
)
BROKEN_RUN = describe(
    "ARL555",
    "values that verl can't train apart with",
    "error",
    "With `one_step_off` verl trains on some devices and infers on others. Batches then have to be whole mini batches, "
    "and the devices of inference whole servers.",
)
