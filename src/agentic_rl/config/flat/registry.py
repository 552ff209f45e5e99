"""All rules of the flat format, in the order in which they are reported."""

from __future__ import annotations

from agentic_rl.config.flat.backend_rules import BACKEND_RULES
from agentic_rl.config.flat.condition_rules import CONDITIONS
from agentic_rl.config.flat.dead_keys import DEAD_KEY_RULES
from agentic_rl.config.flat.rules import RELATIONS
from agentic_rl.config.rules import Rule

RULES: list[Rule] = [*BACKEND_RULES, *RELATIONS, *CONDITIONS, *DEAD_KEY_RULES]

ARTIFACT_RULES: list[Rule] = []
"""Rules that also need what files or the machine say: facts whose keys begin with `@`. They run after `RULES`."""
