"""verl's own configuration, composed by Hydra from the installed verl. verl itself is not imported."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentic_rl.backends.errors import BackendUnavailableError, NativeConfigError
from agentic_rl.config.verl_native.installation import Installation, installed

if TYPE_CHECKING:
    from omegaconf import DictConfig

TEMPLATE = "ppo_trainer"
MEGATRON_TEMPLATE = "ppo_megatron_trainer"


def compose(
    template: str = TEMPLATE, installation: Installation | None = None, overrides: list[str] | None = None
) -> DictConfig:
    """Compose verl's defaults of one template, interpolations kept; `overrides` as on Hydra's command line.

    Hydra's global state is left as it was found, so that a program that uses Hydra itself is not disturbed.

    Raises:
        BackendUnavailableError: verl, or Hydra, which comes with it, is not installed.
        NativeConfigError: the installed verl has no such template, or refuses an override.
    """
    folder = (installation or installed()).config_dir
    if folder is None:
        raise BackendUnavailableError("verl is not installed", "python -m pip install 'agentic-rl[verl]'")
    names = sorted(path.stem for path in folder.glob("ppo_*.yaml"))  # the others are no training with PPO
    if template not in names:
        raise NativeConfigError(f"verl has no configuration {template!r}", f"one of {', '.join(names)}")
    try:
        import hydra
        from hydra.core.global_hydra import GlobalHydra
        from hydra.errors import HydraException
    except ImportError as error:
        raise BackendUnavailableError(f"{error.name} is not installed", "python -m pip install hydra-core") from None
    before = GlobalHydra.instance().hydra
    try:
        GlobalHydra.instance().clear()
        with hydra.initialize_config_dir(str(folder), version_base=None):
            return hydra.compose(template, overrides or [])
    except HydraException as error:
        raise NativeConfigError(f"verl's {template} can't be composed: {error}") from None
    finally:
        GlobalHydra.instance().clear()
        GlobalHydra.instance().hydra = before
