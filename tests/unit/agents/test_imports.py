from __future__ import annotations

import pickle
import subprocess
import sys

import pytest

from agentic_rl.agents import errors


def test_agents_import_nothing_heavy() -> None:
    code = (
        "import sys, agentic_rl.agents as a; a.find_agent('math'); "
        "print([m for m in ('torch', 'transformers', 'numpy', 'math_verify', 'sympy', 'openai') if m in sys.modules])"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"


@pytest.mark.parametrize(
    "kind", [one for one in vars(errors).values() if isinstance(one, type) and one is not errors.AgentFileError]
)
def test_errors_refine_standard_ones_and_survive_pickling(kind: type[Exception]) -> None:
    error = pickle.loads(pickle.dumps(kind("what happened")))
    assert type(error) is kind
    assert str(error) == "what happened"
    assert kind.__mro__[1] is not Exception
