"""A flat configuration -> the complete configuration that verl reads, and the command line that gives the same."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentic_rl.backends.errors import NativeConfigError
from agentic_rl.backends.run_folder import run_path
from agentic_rl.backends.verl.agent_loop_file import entries
from agentic_rl.backends.verl.assignments import (
    Assignment,
    arguments,
    assigned,
    engine_of,
    lacking,
    lacks,
    refuse_lacking,
)
from agentic_rl.backends.verl.composition import TEMPLATE, compose
from agentic_rl.backends.verl.findings import NATIVE_KEY, finding
from agentic_rl.backends.verl.inside.settings import settings_of
from agentic_rl.backends.verl.mapping import (
    AGENT_LOOP_WORKERS,
    ALWAYS,
    BY_DEVICE,
    READERS_OF_DATA,
    TABLE,
    Engine,
    Setting,
    uses_critic,
)
from agentic_rl.config.diagnostics import Finding
from agentic_rl.config.flat.schema import FlatConfig
from agentic_rl.config.verl_native.installation import Installation, installed
from agentic_rl.machine.devices import accelerator

if TYPE_CHECKING:
    from omegaconf import DictConfig


def render(
    config: FlatConfig,
    *,
    template: str = TEMPLATE,
    installation: Installation | None = None,
    device: str | None = None,
    folder: Path | None = None,
) -> dict[str, Any]:
    """The complete native configuration: verl's defaults with our values, in the order of verl's template.

    Args:
        config: a configuration with a section `verl`.
        template: the name of verl's own configuration that is the base.
        installation: what is installed; this environment where it is left out.
        device: npu, gpu or cpu; what the configuration says, or this machine has, where it is left out.
        folder: the run's folder; `checkpoints/<project>/<experiment>` below the current one where it is left out.

    Raises:
        BackendUnavailableError: verl is not installed.
        NativeConfigError: the installed verl lacks the template or a key.
    """
    setting = _setting(config, installation, device, folder)
    composed = compose(template, setting.installation)
    return assigned(composed, assignments(config, setting, composed))


def overrides(
    config: FlatConfig,
    *,
    template: str = TEMPLATE,
    installation: Installation | None = None,
    device: str | None = None,
    folder: Path | None = None,
) -> list[str]:
    """The arguments for `python -m verl.trainer.main_ppo` that give what `render` gives; see there."""
    setting = _setting(config, installation, device, folder)
    return arguments(template, assignments(config, setting, compose(template, setting.installation)))


def agent_loops(config: FlatConfig, names: Sequence[str] = (), *, device: str | None = None) -> list[dict[str, Any]]:
    """The content of `agent_loops.yaml`; `names` are the agents that rows of the data ask for."""
    workers = 1 if resolved_device(config, device) == "cpu" else AGENT_LOOP_WORKERS
    return entries(settings_of(config, workers), names)


def check_template(
    config: FlatConfig, template: str = TEMPLATE, installation: Installation | None = None
) -> list[Finding]:
    """The template or the keys that the installed verl lacks.

    Raises:
        BackendUnavailableError: verl is not installed.
    """
    try:
        setting = _setting(config, installation, None, None)
        composed = compose(template, setting.installation)
    except NativeConfigError as error:
        return [finding(NATIVE_KEY, "train_backend", error.message, error.hint)]
    hint = "install the verl that ARL511 names"
    return [
        finding(NATIVE_KEY, one.origin or "train_backend", lacks(one.native), hint)
        for one in lacking(composed, _wanted(config, setting, engine_of(composed)))
    ]


def assignments(config: FlatConfig, setting: Setting, composed: DictConfig) -> list[Assignment]:
    """What is set in verl's composed configuration, each native key once, in the order of the mapping.

    Raises:
        NativeConfigError: verl's configuration lacks a key.
    """
    wanted = list(_wanted(config, setting, engine_of(composed)))
    refuse_lacking(composed, wanted)
    return list({one.native: one for one in wanted}.values())


def resolved_device(config: FlatConfig, device: str | None = None) -> str:
    """npu, gpu or cpu: as asked for, as configured, or what this machine has."""
    wanted = device or config.device
    return accelerator() or "cpu" if wanted == "auto" else wanted


def _setting(config: FlatConfig, installation: Installation | None, device: str | None, folder: Path | None) -> Setting:
    if config.verl is None:
        raise NativeConfigError("the configuration has no section verl", "add the section `verl:`")
    path = folder or run_path(config.verl.project_name, config.verl.experiment_name)
    written = {READERS_OF_DATA} if "dataloader_num_workers" in config.verl.model_fields_set else set()
    return Setting(
        device=resolved_device(config, device),
        devices=config.num_gpus_per_node,
        installation=installation or installed(),
        folder=path.absolute(),
        written=frozenset(written),
    )


def _wanted(config: FlatConfig, setting: Setting, engine: Engine) -> Iterator[Assignment]:
    """The table's values first: what the adapter decides for a device comes after them and wins."""
    config = config.model_copy(update={"device": setting.device})
    for entry in TABLE:
        for native in entry.natives:
            if native.engine in ("any", engine) and _applies(native.key, config):
                yield Assignment(native.key, entry.value_of(config, native), native.added, entry.key)
    for fixed in (*ALWAYS, *BY_DEVICE.get(setting.device, ())):
        if fixed.engine in ("any", engine) and _applies(fixed.key, config):
            value = fixed.value(setting)
            if value is not None:
                yield Assignment(fixed.key, value, fixed.added)


def _applies(key: str, config: FlatConfig) -> bool:
    return not key.startswith("critic.") or key == "critic.enable" or uses_critic(config)
