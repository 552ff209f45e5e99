"""All rules of the flat format, in the order in which they are reported."""

from __future__ import annotations

from agentic_rl.config.flat.backend_rules import BACKEND_RULES
from agentic_rl.config.flat.batch_rules import BATCH_RULES, DATA_RULES
from agentic_rl.config.flat.condition_rules import CONDITIONS
from agentic_rl.config.flat.dead_keys import DEAD_KEY_RULES
from agentic_rl.config.flat.device_rules import DEVICES, MODEL_DEVICES
from agentic_rl.config.flat.group_rules import GROUPS
from agentic_rl.config.flat.length_rules import LENGTHS, MODEL_LENGTHS
from agentic_rl.config.flat.megatron_rules import MEGATRON_RULES
from agentic_rl.config.flat.memory_rules import MEMORY
from agentic_rl.config.flat.mindspeed_rules import MINDSPEED_RULES
from agentic_rl.config.flat.mindspeed_worker_rules import WORKER_MODEL_RULES, WORKER_RULES
from agentic_rl.config.flat.prompt_rules import PROMPT_RULES
from agentic_rl.config.flat.resume_rules import PATHS, RESUMING
from agentic_rl.config.flat.rules import RELATIONS
from agentic_rl.config.flat.saving_rules import SAVING, STEP_SAVING
from agentic_rl.config.rules import Rule

RULES: list[Rule] = [
    *BACKEND_RULES,
    *RELATIONS,
    *CONDITIONS,
    *DEAD_KEY_RULES,
    *MINDSPEED_RULES,
    *WORKER_RULES,
    *BATCH_RULES,
    *LENGTHS,
    *GROUPS,
    *SAVING,
    *PATHS,
    *DEVICES,
]

ARTIFACT_RULES: list[Rule] = [
    *DATA_RULES,
    *PROMPT_RULES,
    *MEGATRON_RULES,
    *WORKER_MODEL_RULES,
    *MODEL_LENGTHS,
    *STEP_SAVING,
    *RESUMING,
    *MODEL_DEVICES,
    *MEMORY,
]
"""Rules that also need what files or the machine say: facts whose keys begin with `@`. They run after `RULES`."""
