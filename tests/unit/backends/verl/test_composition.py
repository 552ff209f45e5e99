from __future__ import annotations

from pathlib import Path

import pytest

from agentic_rl.backends.errors import BackendUnavailableError, NativeConfigError
from agentic_rl.backends.verl.composition import MEGATRON_TEMPLATE, compose
from agentic_rl.config.verl_native.installation import Installation
from verl_doubles import HAS_VERL, loaded_by

pytestmark = pytest.mark.verl
needs_verl = pytest.mark.skipif(not HAS_VERL, reason="verl is not installed")


@needs_verl
def test_interpolations_are_kept() -> None:
    from omegaconf import OmegaConf

    kept = OmegaConf.to_container(compose(), resolve=False)
    assert kept["actor_rollout_ref"]["rollout"]["prompt_length"] == "${oc.select:data.max_prompt_length,512}"


@needs_verl
def test_megatron() -> None:
    assert compose(MEGATRON_TEMPLATE).actor_rollout_ref.actor.strategy == "megatron"


@needs_verl
def test_composing_imports_no_verl() -> None:
    code = "from agentic_rl.backends.verl.composition import compose; compose()"
    assert not loaded_by(code) & {"verl", "ray", "vllm", "torch", "transformers"}


@needs_verl
def test_a_program_that_uses_hydra_is_not_disturbed(tmp_path: Path) -> None:
    import hydra
    from hydra.core.global_hydra import GlobalHydra

    (tmp_path / "mine.yaml").write_text("a: 1\n")
    with hydra.initialize_config_dir(str(tmp_path), version_base=None):
        compose()
        assert hydra.compose("mine").a == 1
    assert not GlobalHydra.instance().is_initialized()
    compose()
    assert not GlobalHydra.instance().is_initialized()


@needs_verl
@pytest.mark.parametrize("name", ["nothing", "evaluation", "../ppo_trainer"])
def test_what_is_no_template_of_a_training(name: str) -> None:
    with pytest.raises(NativeConfigError, match=f"no configuration '{name}'") as raised:
        compose(name)
    assert "ppo_megatron_trainer, ppo_trainer" in str(raised.value)


@needs_verl
def test_refused_override() -> None:
    with pytest.raises(NativeConfigError, match=r"can't be composed: .*trainer\.nothing"):
        compose(overrides=["trainer.nothing=1"])


def test_without_verl() -> None:
    with pytest.raises(BackendUnavailableError, match="verl is not installed"):
        compose(installation=Installation())
