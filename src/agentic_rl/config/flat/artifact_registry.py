"""The rules that also need what files or the machine say, and how they are applied.

Loaded only where files are read: checking a text alone stays cheap.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentic_rl.config.diagnostics import Finding
from agentic_rl.config.flat.batch_rules import DATA_RULES
from agentic_rl.config.flat.device_rules import MODEL_DEVICES
from agentic_rl.config.flat.findings import Findings, PlaceOf, overridden
from agentic_rl.config.flat.length_rules import MODEL_LENGTHS
from agentic_rl.config.flat.megatron_rules import MEGATRON_RULES
from agentic_rl.config.flat.memory_rules import MEMORY
from agentic_rl.config.flat.mindspeed_worker_rules import WORKER_MODEL_RULES
from agentic_rl.config.flat.prompt_rules import PROMPT_RULES
from agentic_rl.config.flat.resume_rules import RESUMING
from agentic_rl.config.flat.saving_rules import STEP_SAVING
from agentic_rl.config.flat.validation import Validated
from agentic_rl.config.rules import Facts, Rule, run

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
"""Rules that also need what files or the machine say: facts whose keys begin with `@`. They run last."""


def relate(validated: Validated, artifacts: Mapping[str, Any], place_of: PlaceOf) -> list[Finding]:
    """Run the rules that need `artifacts`: what files and the machine say, by keys that begin with `@`."""
    placed = validated.placed
    findings = Findings(place_of, placed.written, placed.written_as)
    outside = overridden(placed.written, placed.written_as, place_of)
    facts = Facts({**validated.values, **artifacts}, placed.written, outside)
    for rule, problem in run(ARTIFACT_RULES, facts):
        findings.add(rule.page, problem.key, problem.message, problem.hint, problem.severity)
    return findings.items
