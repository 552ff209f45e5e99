"""Inference apart from training: what the inference YAML says to the training engine, or a vLLM server of our own.

In direct mode the training engine makes its own servers on the inference nodes, with the sizes of the inference YAML;
in serve mode nothing trains there, and the node runs `vllm serve` itself.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from agentic_rl.backends.errors import ClusterError
from agentic_rl.backends.verl.separate import VLLM_KEYS
from agentic_rl.cluster.node import address_of
from agentic_rl.config.aura.bundle import Bundle
from agentic_rl.config.aura.inference import InferenceConfig

_ROLLOUT = "verl_conf.actor_rollout_ref.rollout"
_SIZES = ("tensor_parallel_size", "data_parallel_size")
_LIMITS = ("max_model_len", "max_num_batched_tokens", "max_num_seqs", "gpu_memory_utilization")
_ENGINE = "infer_instances[0].executor_kwargs.engine"
_CHAT_SERVER = "infer_instances[0].executor_kwargs.engine_kwargs.chat_server"
_VLLM = "import sys; from vllm.entrypoints.cli.main import main; sys.argv[0] = 'vllm'; main()"
SERVING = ("serve",)
"""Modes in which nothing makes servers on the inference nodes but we."""


@dataclass(frozen=True)
class Server:
    """A vLLM server on an inference node."""

    command: tuple[str, ...]
    host: str
    port: int

    @property
    def health(self) -> str:
        """The address that answers once it serves."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}/health"


def rollout_overrides(bundle: Bundle, given: Sequence[str]) -> list[str]:
    """What the inference YAML says, as overrides of the training YAML; what a person overrides stays theirs."""
    config = bundle.inference.config if bundle.inference else None
    if config is None:
        return []
    taken = {item.partition("=")[0] for item in given}
    written = {name: _size(config, name, bundle) for name in _SIZES}
    written |= {name: getattr(config, name) for name in _LIMITS}
    values = {f"{_ROLLOUT}.{VLLM_KEYS[name]}": value for name, value in written.items() if value is not None}
    return [f"{key}={value}" for key, value in values.items() if key not in taken]


def server_of(bundle: Bundle) -> Server | None:
    """The server of the inference node, where the mode wants one of ours.

    Raises:
        ClusterError: the set asks for what one server can't do.
    """
    values = bundle.train.values if bundle.train else {}
    config = bundle.inference.config if bundle.inference else None
    wanted = values.get("agentic_ai.mode") in SERVING and values.get(_ENGINE, "vllm_proxy") == "vllm_proxy"
    if not wanted or config is None or bundle.hosts is None:
        return None
    nodes = bundle.hosts.inference_nodes
    if len(nodes) > 1:
        raise ClusterError(
            f"serve mode starts one inference server, and hosts.conf lists {len(nodes)} inference nodes",
            "one row before the training master; or start the servers yourself and name them in chat_server",
        )
    if config.pd_mode:
        raise ClusterError(
            "pd_mode 1: prefill and decode in servers of their own are not started by launch",
            "pd_mode: 0 in the inference YAML, or start the servers yourself",
        )
    host, port = _where(values, address_of(nodes[0].host))
    return Server(tuple(_command(config, bundle, port)), host, port)


def _where(values: Mapping[str, Any], own: str) -> tuple[str, int]:
    """Where requests go: chat_server, which has to be on the inference node."""
    written = values.get(_CHAT_SERVER)
    first = written[0] if isinstance(written, list) and written else written
    try:
        place = urlsplit(str(first or ""))
        host, port = place.hostname or "", place.port
    except ValueError:
        host, port = "", None
    if port is None or not host or address_of(host) != own:
        raise ClusterError(
            f"chat_server is {first!r}, but the server is started on the inference node, which is {own}",
            f"chat_server: http://{own}:{port or 8080}",
        )
    return own, port


def _command(config: InferenceConfig, bundle: Bundle, port: int) -> list[str]:
    copies = (_size(config, "data_parallel_size", bundle) or 1) * config.prefill_instance_count
    flags: dict[str, Any] = {
        "served-model-name": config.infer_model_name,
        "host": "0.0.0.0",  # noqa: S104 - the other nodes ask it
        "port": port,
        "tensor-parallel-size": _size(config, "tensor_parallel_size", bundle),
        "data-parallel-size": copies,
        **{name.replace("_", "-"): getattr(config, name) for name in _LIMITS},
    }
    options = [f"--{name}={value}" for name, value in flags.items() if value is not None]
    if config.enable_expert_parallel:
        options.append("--enable-expert-parallel")
    if config.tool_call_enable:
        options += ["--enable-auto-tool-choice", "--tool-call-parser=hermes"]
    return [sys.executable, "-c", _VLLM, "serve", config.infer_model_path, *options]


def _size(config: InferenceConfig, name: str, bundle: Bundle) -> int | None:
    """A size; 0 is filled in from the devices of a node: those that the other size leaves, tensors first."""
    tensor, data = config.tensor_parallel_size, config.data_parallel_size
    values = bundle.train.values if bundle.train else {}
    devices = values.get(f"{_ROLLOUT}.n_gpus_per_node") or values.get("verl_conf.trainer.n_gpus_per_node")
    if (tensor and data) or not isinstance(devices, int):
        return getattr(config, name) or None
    if name == "tensor_parallel_size":
        return tensor or max(devices // (data or 1), 1)
    return data or max(devices // (tensor or devices), 1)
