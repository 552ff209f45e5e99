"""The module paths from which existing wrapper files import what this package now has elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

from agentic_rl.agents.trajectory import Step, StepTrajectory, Trajectory
from agentic_rl.agents.wrapper import BaseEngineWrapper
from agentic_rl.agents.wrapper_task import WrapperTask

_ROOTS = ("agentic_rl", "aura")
_FOLDER = "runner.agent_engine_wrapper"
_NAMES: dict[str, dict[str, type]] = {
    "base": {"Step": Step, "StepTrajectory": StepTrajectory, "Trajectory": Trajectory},
    "base_engine_wrapper": {
        "AgentTask": WrapperTask,
        "BaseEngineWrapper": BaseEngineWrapper,
        "Trajectory": Trajectory,
    },
}
_MODULES: dict[str, dict[str, type]] = {
    "aura": {},
    **{f"{root}.{part}": {} for root in _ROOTS for part in ("runner", _FOLDER)},
    **{f"{root}.{_FOLDER}.{name}": names for root in _ROOTS for name, names in _NAMES.items()},
}


class _ReleasedPaths(MetaPathFinder, Loader):
    """Asked after all others: an installed package of one of the names wins."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname not in _MODULES:
            return None
        return ModuleSpec(fullname, self, is_package=not _MODULES[fullname])

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        vars(module).update(_MODULES[module.__name__])


def offer_released_paths() -> None:
    """Let imports of the released paths find the classes of this package, from now on."""
    if not any(isinstance(finder, _ReleasedPaths) for finder in sys.meta_path):
        sys.meta_path.append(_ReleasedPaths())
