"""What a run asks of Ray, and whether the nodes of a cluster can give it. Needs no Ray."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agentic_rl.backends.errors import ClusterError
from agentic_rl.backends.verl.environment import Device
from agentic_rl.backends.verl.inside.names import INFERENCE_ROLE, TRAINING_ROLE

CPUS_OF_A_DEVICE = 3
"""What verl reserves beside each device of the trainer (the `max_colocate_count` of its pools)."""
CPUS_OF_INFERENCE = 2
"""The same beside each device of an inference server that has its own."""
CPUS_OF_A_RUN = 2
"""For verl's task runner and what it starts; most of its actors reserve none."""

SIZES = ("tensor_model_parallel_size", "data_parallel_size", "pipeline_model_parallel_size")
"""The keys of verl's `rollout` whose product is the number of devices of one inference server."""


@dataclass(frozen=True)
class Inference:
    """Devices of inference servers apart from those of the trainer."""

    devices: int
    """On each node."""
    nodes: int
    group: int
    """Devices that one server has on one node."""


@dataclass(frozen=True)
class Group:
    """Devices that have to be on one node."""

    devices: int
    cpus: int
    role: str
    """A resource of Ray that the node has to have, if any node has it."""


@dataclass(frozen=True)
class Demand:
    """What a run asks of Ray."""

    device: Device
    devices: int
    """The trainer's, on each node."""
    nodes: int
    inference: Inference | None = None
    """None: the trainer's devices also infer."""

    @property
    def resource(self) -> str:
        """Ray's name for the devices."""
        return "NPU" if self.device == "npu" else "GPU"

    @property
    def groups(self) -> list[Group]:
        """As verl places them, the trainer's first."""
        training = [Group(self.devices, self.devices * CPUS_OF_A_DEVICE, TRAINING_ROLE)] * self.nodes
        apart = self.inference
        if apart is None:
            return training
        servers = apart.devices * apart.nodes // apart.group
        return training + [Group(apart.group, apart.group * CPUS_OF_INFERENCE, INFERENCE_ROLE)] * servers

    @property
    def needs_cluster(self) -> bool:
        """Whether one machine is not enough."""
        return self.nodes > 1 or (self.inference is not None and self.inference.nodes > 1)

    @property
    def all_devices(self) -> int:
        """Of all nodes together."""
        return sum(group.devices for group in self.groups)

    @property
    def cpus(self) -> int:
        """Of all nodes together; Ray counts them, the system does not."""
        return sum(group.cpus for group in self.groups) + CPUS_OF_A_RUN

    def __str__(self) -> str:
        training = f"{self.nodes} nodes x {self.devices}"
        apart = self.inference
        return training if apart is None else f"{training} to train, {apart.nodes} x {apart.devices} to infer"


def require(nodes: Sequence[Mapping[str, float]], demand: Demand) -> None:
    """Refuse what verl would wait for without end.

    Args:
        nodes: Ray's resources of each node.
        demand: what the run needs.

    Raises:
        ClusterError: too few devices or CPUs, or not enough of them on one node.
    """
    devices, cpus = (sum(node.get(name, 0) for node in nodes) for name in (demand.resource, "CPU"))
    if devices < demand.all_devices:
        raise ClusterError(
            f"the run needs {demand.all_devices} {demand.resource}s ({demand}), and Ray has {devices:g}",
            "as many devices a node and nodes as there are, or more nodes in the cluster",
        )
    if cpus < demand.cpus:
        raise ClusterError(
            f"verl reserves {demand.cpus} CPUs, and Ray has {cpus:g}: it would wait for ever",
            f"`ray start --num-cpus N` with {demand.cpus} or more in all (Ray only counts them)",
        )
    homeless = _homeless(nodes, demand)
    if homeless is not None:
        there = ", ".join(f"{node.get(demand.resource, 0):g} with {node.get('CPU', 0):g} CPUs" for node in nodes)
        raise ClusterError(
            f"no node has {homeless.devices} {demand.resource}s and {homeless.cpus} CPUs left {_purpose(homeless)} "
            f"({demand}); the nodes have {there}",
            "fewer devices a node, or `ray start` with more of them (and of --num-cpus) on each node",
        )


def _homeless(nodes: Iterable[Mapping[str, float]], demand: Demand) -> Group | None:
    """The first group that fits on no node when the large ones choose first; None where all fit."""
    free = [dict(node) for node in nodes]
    for group in sorted(demand.groups, key=lambda one: one.devices, reverse=True):
        named = [node for node in free if node.get(group.role)]
        fitting = [node for node in named or free if _fits(node, group, demand.resource)]
        if not fitting:
            return group
        # The node that is left with least, so that larger free ones stay whole.
        chosen = min(fitting, key=lambda node: node[demand.resource])
        chosen[demand.resource] -= group.devices
        chosen["CPU"] -= group.cpus
    return None


def _fits(node: Mapping[str, float], group: Group, resource: str) -> bool:
    return node.get(resource, 0) >= group.devices and node.get("CPU", 0) >= group.cpus


def _purpose(group: Group) -> str:
    return "to train" if group.role == TRAINING_ROLE else "for an inference server"


def demand_of(native: Mapping[str, Any]) -> Demand:
    """What verl's configuration asks for; with `separate_async` the inference servers have devices of their own."""
    trainer, rollout = native["trainer"], native["actor_rollout_ref"]["rollout"]
    apart = None
    if trainer["v1"]["trainer_mode"] == "separate_async":
        apart = Inference(rollout["n_gpus_per_node"], rollout["nnodes"], group_of(rollout))
    return Demand(trainer["device"], trainer["n_gpus_per_node"], trainer["nnodes"], apart)


def server_size(rollout: Mapping[str, Any]) -> int:
    """Devices of one inference server of verl's `rollout`."""
    return math.prod(rollout.get(name, 1) for name in SIZES)


def group_of(rollout: Mapping[str, Any]) -> int:
    """Those of them that are on one node."""
    devices: int = rollout["n_gpus_per_node"]
    return min(devices, server_size(rollout))
