"""What a native configuration of verl breaks that verl itself notices late or never, by rules with numbers.

verl checks part of a configuration on the driver, before Ray starts. What is listed here passes that check and fails in
a worker, at the first update, or has no effect. Each rule names the function of verl that it stands for.
"""

from __future__ import annotations

from collections.abc import Iterator

from agentic_rl.config.rules import Facts, Problem, Rule, run
from agentic_rl.config.verl_native.native_rules.batch_rules import BATCH_RULES
from agentic_rl.config.verl_native.native_rules.context_rules import CONTEXT_RULES
from agentic_rl.config.verl_native.native_rules.engine_rules import ENGINE_RULES
from agentic_rl.config.verl_native.native_rules.facts import installed_facts, native_facts
from agentic_rl.config.verl_native.native_rules.loss_rules import LOSS_RULES
from agentic_rl.config.verl_native.native_rules.trainer_rules import TRAINER_RULES
from agentic_rl.config.verl_native.native_rules.value_rules import VALUE_RULES

__all__ = ["NATIVE_RULES", "installed_facts", "native_facts", "native_problems"]

NATIVE_RULES: list[Rule] = [
    *LOSS_RULES,
    *ENGINE_RULES,
    *CONTEXT_RULES,
    *BATCH_RULES,
    *TRAINER_RULES,
    *VALUE_RULES,
]


def native_problems(facts: Facts) -> Iterator[tuple[Rule, Problem]]:
    """Every rule that a native configuration breaks, in the order of the rules; keys are native."""
    yield from run(NATIVE_RULES, facts)
