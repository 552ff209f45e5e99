from __future__ import annotations

import subprocess
import sys

import pytest
import yaml

from agentic_rl.backends.verl.inside.settings import RolloutSettings, settings_of
from verl_doubles import flat
from verl_server_doubles import settings


def test_settings_survive_yaml() -> None:
    given = settings(agent_file="/agents/mine.py", stepwise=True)
    assert RolloutSettings.from_dict(yaml.safe_load(yaml.safe_dump(given.to_dict()))) == given
    with pytest.raises(TypeError):
        RolloutSettings.from_dict({**given.to_dict(), "more": 1})


@pytest.mark.parametrize(("parallel", "workers", "each"), [(8, 2, 4), (7, 2, 3), (1, 4, 1)])
def test_workers_share_the_rollouts_in_flight(parallel: int, workers: int, each: int) -> None:
    made = settings_of(flat(n_parallel_agents=parallel, use_stepwise_advantage=True, max_steps=9), workers)
    assert (made.n_parallel_agents, made.stepwise, made.max_steps) == (each, True, 9)


def test_settings_load_nothing_heavy() -> None:
    code = (
        "import sys, agentic_rl.backends.verl.inside.settings as s; print({'torch', 'verl', 'ray'} & set(sys.modules))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "set()"
