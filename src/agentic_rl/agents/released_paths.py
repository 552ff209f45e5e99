"""The module paths from which existing wrapper files import what this package now has elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

from agentic_rl.agents.memory import MemoryConfig, MemorySummary
from agentic_rl.agents.trajectory import Step, StepTrajectory, Trajectory
from agentic_rl.agents.wrapper import BaseEngineWrapper
from agentic_rl.agents.wrapper_task import WrapperTask

_ROOTS = ("agentic_rl", "aura")
_MEMORY: dict[str, type] = {"MemoryConfig": MemoryConfig, "MemorySummary": MemorySummary}
_STEPS: dict[str, type] = {"Step": Step, "StepTrajectory": StepTrajectory, "Trajectory": Trajectory}
_WRAPPER: dict[str, type] = {"BaseEngineWrapper": BaseEngineWrapper, **_STEPS}
_NAMES: dict[str, dict[str, type]] = {
    "memory": _MEMORY,
    "memory.memory_config": {"MemoryConfig": MemoryConfig},
    "memory.memory_summary": {"MemorySummary": MemorySummary},
    "runner": _WRAPPER,
    "runner.agent_engine_wrapper": _WRAPPER,
    "runner.agent_engine_wrapper.base": _STEPS,
    "runner.agent_engine_wrapper.base_engine_wrapper": {
        "AgentTask": WrapperTask,
        "BaseEngineWrapper": BaseEngineWrapper,
        "Trajectory": Trajectory,
    },
}
_MODULES: dict[str, dict[str, type]] = {
    "aura": {**_WRAPPER, **_MEMORY},
    **{f"{root}.{path}": names for root in _ROOTS for path, names in _NAMES.items()},
}


class _ReleasedPaths(MetaPathFinder, Loader):
    """Asked after all others: an installed package of one of the names wins."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname not in _MODULES:
            return None
        return ModuleSpec(fullname, self, is_package=_has_parts(fullname))

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        vars(module).update(_MODULES[module.__name__])


def _has_parts(name: str) -> bool:
    return any(other.startswith(f"{name}.") for other in _MODULES)


def offer_released_paths() -> None:
    """Let imports of the released paths find the classes of this package, from now on."""
    if not any(isinstance(finder, _ReleasedPaths) for finder in sys.meta_path):
        sys.meta_path.append(_ReleasedPaths())
