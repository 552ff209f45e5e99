"""The rules of the flat format that need its values alone, in the order in which they are reported."""

from __future__ import annotations

from agentic_rl.config.flat.backend_rules import BACKEND_RULES
from agentic_rl.config.flat.batch_rules import BATCH_RULES
from agentic_rl.config.flat.condition_rules import CONDITIONS
from agentic_rl.config.flat.dead_keys import DEAD_KEY_RULES
from agentic_rl.config.flat.device_rules import DEVICES
from agentic_rl.config.flat.group_rules import GROUPS
from agentic_rl.config.flat.length_rules import LENGTHS
from agentic_rl.config.flat.resume_rules import PATHS
from agentic_rl.config.flat.rules import RELATIONS
from agentic_rl.config.flat.saving_rules import SAVING
from agentic_rl.config.rules import Rule

_BEFORE: list[Rule] = [*BACKEND_RULES, *RELATIONS, *CONDITIONS, *DEAD_KEY_RULES]
_AFTER: list[Rule] = [*BATCH_RULES, *LENGTHS, *GROUPS, *SAVING, *PATHS, *DEVICES]


def rules_for(backend: str | None) -> list[Rule]:
    """The rules of a backend; those of one alone are loaded only for it."""
    return [*_BEFORE, *(_mindspeed_rules() if backend == "mindspeed_rl" else ()), *_AFTER]


def _mindspeed_rules() -> list[Rule]:
    from agentic_rl.config.flat.mindspeed_rules import MINDSPEED_RULES
    from agentic_rl.config.flat.mindspeed_worker_rules import WORKER_RULES

    return [*MINDSPEED_RULES, *WORKER_RULES]
