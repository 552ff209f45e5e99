"""The environment variables of a run's processes. Needs neither verl nor Ray."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Literal

from agentic_rl.backends.run_folder import TENSORBOARD
from agentic_rl.backends.verl.folder import OwnFiles
from agentic_rl.backends.verl.inside import names
from agentic_rl.config.verl_native.installation import EXTERNAL_MODULES, external_modules

ADDRESS = "RAY_ADDRESS"
"""Ray's own environment variable; without it the run starts a Ray of its own."""

Device = Literal["cpu", "cuda", "npu"]
"""verl's words for `trainer.device`."""

_EVERYWHERE = {
    "TRANSFER_QUEUE_ENABLE": "1",
    "TOKENIZERS_PARALLELISM": "true",
    "HF_HUB_OFFLINE": "1",  # models and data are folders and files
    "VLLM_NO_USAGE_STATS": "1",
    "VLLM_ALLOW_RUNTIME_LORA_UPDATING": "true",
    "VLLM_DISABLE_COMPILE_CACHE": "1",  # as verl itself sets it: the cache can be corrupt
    "VLLM_LOGGING_LEVEL": "WARN",
    "VERL_LOGGING_LEVEL": "WARN",
}
_ON_DEVICE: Mapping[Device, Mapping[str, str]] = {
    "cpu": {
        "VERL_PLATFORM": "cpu",
        "VERL_ENGINE_DEVICE": "cuda",  # verl registers its FSDP engines for accelerators; this one runs anywhere
        "VLLM_CPU_OMP_THREADS_BIND": "auto",  # three to ten times as fast as nobind
        "VLLM_CPU_KVCACHE_SPACE": "1",  # GiB
        "OMP_NUM_THREADS": "2",  # Ray would set 1
    },
    "cuda": {"NCCL_DEBUG": "WARN", "VLLM_USE_FLASHINFER_SAMPLER": "0"},
    "npu": {"HCCL_HOST_SOCKET_PORT_RANGE": "auto", "HCCL_NPU_SOCKET_PORT_RANGE": "auto"},
}
OF_RAY = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0",  # that hook breaks on the working folder that verl leaves open
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
}
"""For this process, before Ray is imported."""
OF_OWN_RAY = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}
"""The one setting with which a Ray that we start stays on 127.0.0.1."""
OF_JOINED_RAY = {"RAY_NUM_REDIS_GET_RETRIES": "3", "RAY_py_gcs_connect_timeout_s": "5"}
"""How often and how long (seconds) Ray asks for the head of a cluster; by default it takes a quarter of an hour."""


def named_address(environ: Mapping[str, str]) -> str:
    """The address of the cluster to join; empty where the run starts a Ray of its own (Ray's word is `local`)."""
    address = environ.get(ADDRESS, "").strip()
    return "" if address == "local" else address


def environment(
    device: Device, given: Mapping[str, str], run: Path, agents: Mapping[str, str] | None = None
) -> dict[str, str]:
    """The variables of a job in the folder `run`; what the user has set (`given`) wins, except over the plugin.

    `agents` are those of the agents, chosen already.
    """
    files = OwnFiles(run)
    chosen = {**_EVERYWHERE, **_ON_DEVICE[device]}
    chosen |= {name: given[name] for name in chosen if name in given}
    return {
        **chosen,
        EXTERNAL_MODULES: plugins(given),
        **(agents or {}),
        names.RUN: _name_of(run),
        "VERL_FILE_LOGGER_PATH": str(files.metrics),
        "TENSORBOARD_DIR": str(run / TENSORBOARD),
        **({names.STORE_FOLDER: str(files.store)} if device == "cpu" else {}),
    }


def plugins(given: Mapping[str, str]) -> str:
    """The modules that verl imports in every process: ours, before those that the user's environment names."""
    named = external_modules(given)
    return ",".join(named if names.PLUGIN in named else [names.PLUGIN, *named])


def _name_of(run: Path) -> str:
    """Short, since it becomes part of a socket's path; one folder has one run at a time."""
    return blake2b(str(run).encode(), digest_size=5).hexdigest()
