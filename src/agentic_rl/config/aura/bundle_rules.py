"""Relations between hosts.conf, base.conf, the training YAML and the inference YAML.

The facts are named by their file: `hosts` (the whole `HostsFile`), `base.KEY`, `train.KEY` and `infer.KEY`. So are the
keys of problems; `hosts[1].index` is the value `index` of the second row.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from agentic_rl.config.aura.base_conf import BACKENDS, backend_of
from agentic_rl.config.aura.hosts import HostsFile
from agentic_rl.config.diagnostics import Severity
from agentic_rl.config.rules import Facts, Problem, Rule, rule

RULES: list[Rule] = []
"""Relations between the files of a set."""

_INSTANCE = "train.train_instances[0].executor_kwargs"
_ROLLOUT = "train.verl_conf.actor_rollout_ref.rollout"
_NNODES, _DEVICES = "train.verl_conf.trainer.nnodes", "train.verl_conf.trainer.n_gpus_per_node"


@rule(RULES, "ARL630", "Number of nodes doesn't fit the mode", "error")
def check_nodes(facts: Facts) -> Iterator[Problem]:
    """Hybrid runs share one machine; the others need two at least.

    `hybrid` shares one machine between training and inference; `one_step_off` gives each of them machines of its own.
    Hybrid runs over several machines are not documented, which is a warning.
    """
    nodes, mode = len(_hosts(facts).nodes), facts["base.work_mode"]
    if mode == "hybrid" and nodes > 1:
        message = f"hybrid, but hosts.conf lists {nodes} nodes; it is documented for one machine"
        hint = "work_mode=one_step_off, or one row in hosts.conf"
        yield Problem("base.work_mode", message, hint, "warning")
    elif mode != "hybrid" and nodes == 1:
        message = f"{mode}, but hosts.conf lists one node; training and inference need machines of their own"
        yield Problem("base.work_mode", message, "work_mode=hybrid, or add the other machines to hosts.conf")


@rule(RULES, "ARL631", "No node infers", "error")
def check_inference_nodes(facts: Facts) -> Iterator[Problem]:
    """With training and inference apart, the nodes before the training master infer.

    If the training master has index 0 nobody does, and training waits for servers that never come. Inference machines
    come first in hosts.conf.
    """
    hosts = _hosts(facts)
    master = hosts.training_master
    if facts["base.work_mode"] != "hybrid" and len(hosts.nodes) > 1 and master and not hosts.inference_nodes:
        message = f"the training master has index {master.index}, so no node comes before it, and none infers"
        hint = "put the inference machines first, with the smaller indexes"
        yield Problem("hosts[0].index", message, hint)


@rule(RULES, "ARL632", "infer_master_index doesn't fit the mode", "error")
def check_inference_master(facts: Facts) -> Iterator[Problem]:
    """In hybrid mode one node has both flags; otherwise the column may be left out.

    On one machine in hybrid mode `train_master_index` and `infer_master_index` are both 1. With training and inference
    apart the nodes before the training master infer, and a 1 on another node has no effect.
    """
    hosts = _hosts(facts)
    infers = [node.index for node in hosts.inference_nodes]
    for row, node in enumerate(hosts.nodes):
        key = f"hosts[{row}].infer_master_index"
        if facts["base.work_mode"] != "hybrid":
            if infers and node.infer_master and node.index not in infers:
                message = f"1 on node {node.index}, which trains; the nodes before the training master infer"
                yield Problem(key, message, "write 0, or leave the column out", "warning")
        elif node.train_master and not node.infer_master:
            what = "0" if node.wrote("infer_master_index") else "left out"
            message = f"{what}, but in hybrid mode the training master starts inference, too"
            yield Problem(key, message, "write 1 as the fourth value", "error" if what == "0" else "warning")


@rule(RULES, "ARL633", "Modes of base.conf and the training YAML differ", "error")
def check_modes(facts: Facts) -> Iterator[Problem]:
    """The mode is written in base.conf and in the train instance; the two must agree.

    `work_mode` of base.conf decides what is started on the nodes, `cluster_mode` (or `work_mode`) of the train instance
    how it trains.
    """
    name = "work_mode" if facts.get(f"{_INSTANCE}.work_mode") is not None else "cluster_mode"
    mode, trained = facts["base.work_mode"], facts[f"{_INSTANCE}.{name}"]
    if trained in ("hybrid", "one_step_off", "fully_async") and mode != trained:
        message = f"{mode}, but {name} of the train instance is {trained}"
        hint = f"work_mode={trained} here, or {name}: {mode} in the training YAML"
        yield Problem("base.work_mode", message, hint)


@rule(RULES, "ARL634", "nnodes is not the number of training nodes", "error")
def check_training_nodes(facts: Facts) -> Iterator[Problem]:
    """`trainer.nnodes` counts the machines that train.

    These are all nodes in hybrid mode, otherwise the training master and the nodes after it. With more than there are,
    the job waits for devices that never come; with fewer, machines stay unused, which is a warning.
    """
    hosts = _hosts(facts)
    wanted, present = facts[_NNODES], len(_training(facts, hosts))
    if not isinstance(wanted, int) or not hosts.training_master or wanted == present:
        return
    listed = f"hosts.conf lists {present} training node{'' if present == 1 else 's'}"
    nobody = "" if facts.wrote(_NNODES) else " (which nobody wrote)"
    severity: Severity | None = None if wanted > present and not nobody else "warning"
    yield Problem(_NNODES, f"{wanted}{nobody}, but {listed}", f"nnodes: {present}, or correct hosts.conf", severity)


@rule(RULES, "ARL635", "monitor_cmd starts another backend", "warning")
def check_monitored(facts: Facts) -> Iterator[Problem]:
    """The start script that is watched must be that of the training YAML's backend.

    `monitor_cmd` is what runs again after a failure, and its name tells the backend: `start_rl_with_verl_vllm.sh` or
    `start_rl_with_msrl_vllm.sh`. With that of another backend, the first restart would start the wrong one.
    """
    command, engine = facts["base.monitor_cmd"], facts.get(f"{_INSTANCE}.train_engine")
    if engine is None:
        engine = facts[f"{_INSTANCE}.rl_framework"]
    started = backend_of(command)
    if engine not in BACKENDS.values():
        return
    word = next(word for word, name in BACKENDS.items() if name == engine)
    if started is None:
        message = f"{command!r} does not tell its backend; the training YAML trains with {engine}"
        yield Problem("base.monitor_cmd", message, f"monitor_cmd=start_rl_with_{word}_vllm.sh")
    elif started != engine:
        message = f"{command!r} starts {started}, but the training YAML trains with {engine}"
        yield Problem("base.monitor_cmd", message, f"monitor_cmd=start_rl_with_{word}_vllm.sh")


@rule(RULES, "ARL636", "Retries without checkpoints", "warning")
def check_retries(facts: Facts) -> Iterator[Problem]:
    """A job that is started again goes on from its newest checkpoint.

    `trainer.save_freq: -1` saves none, so that every retry begins with the first step.
    """
    retries, saved = facts["base.max_retries"], facts["train.verl_conf.trainer.save_freq"]
    if retries and saved == -1 and facts.get("base.monitor_cmd"):
        message = f"-1 saves no checkpoint, so each of the {retries} retries of base.conf begins with the first step"
        yield Problem("train.verl_conf.trainer.save_freq", message, "save_freq: 10, or max_retries=0 in base.conf")


@rule(RULES, "ARL637", "Servers load another model than the policy", "warning")
def check_model(facts: Facts) -> Iterator[Problem]:
    """The inference servers answer the rollouts of the policy, so they load the model that is trained.

    `infer_model_path` and `verl_conf.actor_rollout_ref.model.path` name one folder.
    """
    served, policy = facts["infer.infer_model_path"], facts["train.verl_conf.actor_rollout_ref.model.path"]
    if isinstance(policy, str) and _resolved(served) != _resolved(policy):
        message = f"{served!r}, but the policy is {policy!r}"
        yield Problem("infer.infer_model_path", message, f"infer_model_path: {policy}")


@rule(RULES, "ARL638", "Requests name another model than the servers", "warning")
def check_model_name(facts: Facts) -> Iterator[Problem]:
    """Requests must name the model as the servers were told to call it.

    Requests have `model_name` of the infer instance, and vLLM answers only to `infer_model_name`, in the same letters.
    """
    served = facts["infer.infer_model_name"]
    key = "train.infer_instances[0].executor_kwargs.engine_kwargs.model_name"
    asked = facts[key]
    if isinstance(asked, str) and asked != served:
        message = f"{asked!r}, but the servers are started as {served!r} by the inference YAML"
        yield Problem(key, message, f"model_name: {served}")


@rule(RULES, "ARL639", "Servers have a smaller window than rollouts", "warning")
def check_window(facts: Facts) -> Iterator[Problem]:
    """A server refuses requests beyond its own `max_model_len`.

    Where rollouts may be longer, the last turns of long trajectories fail.
    """
    window, wanted = facts["infer.max_model_len"], facts[f"{_ROLLOUT}.max_model_len"]
    if isinstance(wanted, int) and window is not None and window < wanted:
        message = f"{window} tokens, but a rollout may have {wanted} (rollout.max_model_len)"
        yield Problem("infer.max_model_len", message, f"max_model_len: {wanted}")


@rule(RULES, "ARL640", "Servers need more devices than the inference nodes have", "warning")
def check_devices(facts: Facts) -> Iterator[Problem]:
    """The servers must find the devices that their sizes ask for.

    They take (`prefill_instance_count` + `decode_instance_count`) x `tensor_parallel_size` x `data_parallel_size`. The
    inference nodes have `rollout.n_gpus_per_node` each, or `trainer.n_gpus_per_node` where the former is not set.
    """
    hosts = _hosts(facts)
    sizes = [facts[f"infer.{name}_parallel_size"] for name in ("tensor", "data")]
    instances = facts["infer.prefill_instance_count"] + facts["infer.decode_instance_count"]
    each = facts.get(f"{_ROLLOUT}.n_gpus_per_node") or facts[_DEVICES]
    wanted, nodes = instances * sizes[0] * sizes[1], len(hosts.inference_nodes)
    if facts["base.work_mode"] == "hybrid" or not isinstance(each, int) or not nodes or wanted <= nodes * each:
        return
    message = f"{instances} instances of {sizes[0]} x {sizes[1]} devices need {wanted}; "
    message += f"{nodes} inference node{'' if nodes == 1 else 's'} with {each} each have {nodes * each}"
    yield Problem("infer.tensor_parallel_size", message, "make the instances fewer or smaller, or add machines")


def _hosts(facts: Facts) -> HostsFile:
    hosts: HostsFile = facts["hosts"]
    return hosts


def _training(facts: Facts, hosts: HostsFile) -> tuple[Any, ...]:
    return hosts.nodes if facts["base.work_mode"] == "hybrid" else hosts.training_nodes


def _resolved(path: str) -> str:
    try:
        return str(Path(path).resolve())
    except (OSError, ValueError, RuntimeError):  # a name that no file can have; its own finding says so
        return path
