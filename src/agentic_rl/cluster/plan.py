"""What one node of a set does: said in full before anything is done."""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from agentic_rl.backends.errors import ClusterError
from agentic_rl.backends.verl.cluster import SPARE_CPUS
from agentic_rl.backends.verl.demand import CPUS_OF_A_DEVICE, CPUS_OF_A_RUN
from agentic_rl.backends.verl.inside.names import INFERENCE_ROLE, TRAINING_ROLE
from agentic_rl.backends.verl.instances.apart import NODES
from agentic_rl.backends.verl.mapping import OBJECT_STORE_BYTES
from agentic_rl.cluster.inference import Server, rollout_overrides, server_of
from agentic_rl.cluster.node import address_of, own_address_towards
from agentic_rl.cluster.run_place import place_of
from agentic_rl.cluster.status import FOLDER
from agentic_rl.config.addresses import is_loopback
from agentic_rl.config.aura.bundle import Bundle
from agentic_rl.config.aura.hosts import HostsFile, Node
from agentic_rl.config.diagnostics import ConfigError

Part = Literal["training master", "training node", "inference node"]
RAY_PORT = 6344
"""The documented one."""
_TRAINER, _ROLLOUT = "verl_conf.trainer", "verl_conf.actor_rollout_ref.rollout"
_ROLES: dict[Part, str] = {
    "training master": TRAINING_ROLE,
    "training node": TRAINING_ROLE,
    "inference node": INFERENCE_ROLE,
}


@dataclass(frozen=True)
class Options:
    """What the command line says."""

    ray_port: int = RAY_PORT
    join_seconds: float = 600.0
    """How long a node waits for the others."""
    states: Path | None = None
    """The folder for the status of nodes, on storage that all share; in the run's where it is left out."""


@dataclass(frozen=True)
class RayNode:
    """Ray on one node of several."""

    head: bool
    head_address: str
    """`host:port`, with brackets around an IPv6 address."""
    own_address: str
    device: str
    """`cpu`, `gpu` or `npu`."""
    devices: int | None
    """None: Ray counts them itself."""
    role: str

    def arguments(self, folder: Path) -> list[str]:
        """Those of `ray start`; `folder` is for its files."""
        resources: dict[str, float] = {self.role: 1}
        at = ["--head", f"--port={self.head_address.rpartition(':')[2]}"]
        given = [
            *([*at, "--include-dashboard=false"] if self.head else [f"--address={self.head_address}"]),
            f"--node-ip-address={self.own_address}",
            f"--temp-dir={folder}",
            "--disable-usage-stats",
            "--block",
        ]
        if self.devices is not None:
            given.append(f"--num-cpus={self.cpus}")
            if self.device == "npu":
                resources["NPU"] = self.devices
            else:
                given.append(f"--num-gpus={self.devices}")
        if self.device == "cpu":
            given.append(f"--object-store-memory={OBJECT_STORE_BYTES}")
        return [*given, f"--resources={json.dumps(resources)}"]

    @property
    def cpus(self) -> int:
        """As many as there are, or as the devices reserve."""
        wanted = (self.devices or 0) * CPUS_OF_A_DEVICE + CPUS_OF_A_RUN + SPARE_CPUS
        return max(os.cpu_count() or 1, wanted)


@dataclass(frozen=True)
class NodePlan:
    """What one node does."""

    node: Node
    part: Part
    nodes: tuple[Node, ...]
    """All of the set."""
    states: Path
    join_seconds: float
    ray: RayNode | None = None
    """None on a single node: the job starts a Ray of its own there, on the loopback interface."""
    server: Server | None = None
    """The inference server of this node; None where the training engine makes its own."""
    awaited: Server | None = None
    """The one that has to answer before the job starts."""
    job: tuple[str, ...] = ()
    """Empty on every node but the training master."""
    environment: dict[str, str] = field(default_factory=dict)
    """Of the job, on top of this process's."""

    @property
    def master(self) -> Node:
        """The node that starts the job."""
        return next(node for node in self.nodes if node.train_master)

    @property
    def ports(self) -> list[int]:
        """Those that are opened here."""
        opened = [int(self.ray.head_address.rpartition(":")[2])] if self.ray and self.ray.head else []
        return [*opened, *([self.server.port] if self.server else [])]

    def status_file(self, node: Node) -> Path:
        """What a node says of itself."""
        return self.states / f"node-{node.index}.json"

    def to_text(self) -> str:
        """For people."""
        lines = [f"node {self.node.index} ({self.node.host}): {self.part}, one of {len(self.nodes)}"]
        lines += [f"  {line}" for line in self._steps()]
        return "\n".join(lines)

    def _steps(self) -> list[str]:
        steps = [f"status: {self.status_file(self.node)}"]
        if self.ports:
            steps.append(f"ports that have to be free: {', '.join(str(port) for port in self.ports)}")
        if self.ray:
            told = shlex.join(["ray", "start", *self.ray.arguments(Path("FOLDER"))])
            steps.append(f"Ray: {told}" if self.ray.head else f"Ray, within {self.join_seconds:g} s: {told}")
        else:
            steps.append("Ray: the job's own, on the loopback interface")
        if self.server:
            steps.append(f"inference server: {shlex.join(self.server.command)}")
        if not self.job:
            master = self.master
            return [*steps, f"waits for the job of node {master.index} ({master.host}), and ends with it"]
        if self.awaited:
            steps.append(f"waits until {self.awaited.health} answers")
        settings = [f"{name}={value}" for name, value in self.environment.items()]
        return [*steps, f"job: {shlex.join([*settings, *self.job])}"]


def plan(bundle: Bundle, node: Node, options: Options, overrides: Sequence[str] = ()) -> NodePlan:
    """The part of `node` in a set.

    Raises:
        ConfigError: a file of the set has a finding of severity error.
        ClusterError: an address can't be resolved, or what is asked for can't be done.
    """
    hosts, train, base = bundle.hosts, bundle.train, bundle.base
    if bundle.report.verdict == "error" or not (hosts and train and base and base.conf):
        raise ConfigError(bundle.report)
    master = hosts.training_master
    assert master is not None  # noqa: S101 - a set without one has an error
    apart = base.conf.apart
    infers = apart and node in hosts.inference_nodes
    part: Part = "training master" if node is master else "inference node" if infers else "training node"
    ray = None if len(hosts.nodes) == 1 else _ray(train.values, node, master, part, options.ray_port)
    server = server_of(bundle) if apart else None
    place = place_of(train)
    states = options.states or (place.path / FOLDER if place else Path.cwd() / FOLDER)
    if node is not master:
        own = server if infers else None
        return NodePlan(node, part, hosts.nodes, states.absolute(), options.join_seconds, ray, own)
    environment = {"RAY_ADDRESS": ray.head_address} if ray else {}
    if apart:
        environment[NODES] = str(len(hosts.inference_nodes))
    given = rollout_overrides(bundle, overrides) if apart and server is None else []
    file = str(Path(train.document.file).absolute())
    job = (sys.executable, "-m", "agentic_rl", "--config-path", file, *given, *overrides)
    common = (node, part, hosts.nodes, states.absolute(), options.join_seconds, ray)
    return NodePlan(*common, awaited=server, job=job, environment=environment)


def plan_all(bundle: Bundle, options: Options, overrides: Sequence[str] = ()) -> list[NodePlan]:
    """The parts of all nodes."""
    hosts = bundle.hosts or HostsFile("")
    return [plan(bundle, node, options, overrides) for node in hosts.nodes]


def _ray(values: Any, node: Node, master: Node, part: Part, port: int) -> RayNode:
    device = {"cuda": "gpu"}.get(values.get(f"{_TRAINER}.device"), values.get(f"{_TRAINER}.device") or "npu")
    devices = values.get(f"{_TRAINER}.n_gpus_per_node")
    if part == "inference node":
        devices = values.get(f"{_ROLLOUT}.n_gpus_per_node") or devices
    head = _address(master, master)
    address = f"[{head}]:{port}" if ":" in head else f"{head}:{port}"
    return RayNode(part == "training master", address, _address(node, master), device, devices, _ROLES[part])


def _address(node: Node, master: Node) -> str:
    """The address by which the others reach a node; a host's own name is often that of its loopback interface."""
    address = address_of(node.host)
    if not is_loopback(address):
        return address
    towards = own_address_towards(master.host) if node is not master else None
    if towards is None or is_loopback(towards):
        raise ClusterError(
            f"{node.host} of hosts.conf is {address} here, where no other node reaches it",
            "write the address by which the others reach it",
        )
    return towards
