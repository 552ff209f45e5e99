"""What is added to vLLM's workers, through the extension class that vLLM takes by configuration."""

from __future__ import annotations

from typing import Any

from verl.workers.rollout.vllm_rollout.utils import vLLMColocateWorkerExtension

from agentic_rl.backends.verl.inside.patches import IN_CPU_ENGINE
from agentic_rl.backends.verl.inside.weight_transfer import of_this_run, tell_failure


class WorkerExtension(vLLMColocateWorkerExtension):
    """verl's extension, which takes the weights; a failure in it is told to the sender."""

    def update_weights_from_ipc(self, *arguments: Any, **keywords: Any) -> Any:
        """Take the weights."""
        try:
            return super().update_weights_from_ipc(*arguments, **keywords)
        except BaseException as error:
            tell_failure(self._get_zmq_handle(), error)
            raise

    def _get_zmq_handle(self) -> str:
        return of_this_run(super()._get_zmq_handle())


class CpuWorkerExtension(WorkerExtension):
    """The same without an accelerator."""

    def __new__(cls, **keywords: Any) -> CpuWorkerExtension:
        """Prepare vLLM before it loads the model."""
        for patch in IN_CPU_ENGINE:
            patch()
        return super().__new__(cls, **keywords)  # type: ignore[no-any-return, unused-ignore]
