from __future__ import annotations

import json
import subprocess
import sys

import pytest
import yaml

from agentic_rl.backends.verl.inside.settings import RolloutSettings, settings_of
from verl_doubles import flat
from verl_server_doubles import settings


@pytest.mark.parametrize("file", [None, "/agents/mine.py", "/${HOME}/\\${x}/\\u0024{y}/ä'\".py"])
def test_settings_survive_as_text_in_yaml(file: str | None) -> None:
    given = settings(agent_file=file, stepwise=True, min_p=1e-06)
    text = yaml.safe_load(yaml.safe_dump(given.to_text()))
    assert RolloutSettings.from_text(text) == given
    assert "${" not in text
    with pytest.raises(TypeError):
        RolloutSettings.from_text(json.dumps({**given.to_dict(), "more": 1}))


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
