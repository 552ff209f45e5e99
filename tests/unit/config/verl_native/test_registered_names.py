from __future__ import annotations

from pathlib import Path

import pytest

from agentic_rl.config.verl_native import registered_names as module
from agentic_rl.config.verl_native.installation import installed
from agentic_rl.config.verl_native.registered_names import KNOWN, registered_names
from verl_doubles import HAS_VERL

ALGORITHMS = """
class Estimator(str, Enum):
    NEW = "new"

@register_adv_est(Estimator.NEW)
@register_policy_loss("fresh")
def compute(): ...

@other("nothing")
def kl_penalty_forward(kl_penalty):
    if kl_penalty in ("kl", "k9"):
        return 1
    if kl_penalty == "full":
        raise NotImplementedError
    raise NotImplementedError
"""
ENGINES = """
@EngineRegistry.register(model_type="language_model", backend=["one", "two"], device=["cuda"])
class A: ...

@EngineRegistry.register(model_type="value_model", backend="three")
class B: ...
"""
ROLLOUTS = '_ROLLOUT_REGISTRY = {("here", "async"): "a.B", ("gone", "sync"): "a.C"}'


def written(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def test_names_are_read_from_the_source(tmp_path: Path) -> None:
    verl = written(
        tmp_path,
        {
            "trainer/ppo/core_algos.py": ALGORITHMS,
            "workers/engine/a/impl.py": ENGINES,
            "workers/engine/b/impl.py": "def broken(",
            "workers/rollout/base.py": ROLLOUTS,
        },
    )
    names = registered_names(verl)
    assert names["adv_estimators"] == {"new"}
    assert names["policy_losses"] == {"fresh"}
    assert names["kl_estimators"] == {"kl", "k9"}
    assert names["strategies"] == {"one", "two"}
    assert names["rollouts"] == {"here"}
    assert names["trainers"] == KNOWN["trainers"]


@pytest.mark.parametrize("folder", [None, Path("/nowhere")])
def test_without_source_the_known_names_hold(folder: Path | None) -> None:
    assert registered_names(folder) == KNOWN


@pytest.mark.verl
@pytest.mark.skipif(not HAS_VERL, reason="verl is not installed")
@pytest.mark.parametrize("family", KNOWN)
def test_every_family_is_found_in_the_installed_verl(family: str) -> None:
    there = installed()
    assert there.config_dir is not None
    found = module._read(there.config_dir.parents[1], family)
    assert found == KNOWN[family]
