"""A flat configuration -> the complete configuration that verl reads, and the command line that gives the same."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentic_rl.backends.errors import NativeConfigError
from agentic_rl.backends.run_folder import run_path
from agentic_rl.backends.verl.composition import TEMPLATE, compose
from agentic_rl.backends.verl.findings import NATIVE_KEY, finding
from agentic_rl.backends.verl.hydra_text import hydra_text
from agentic_rl.backends.verl.inside.names import AGENT_LOOP
from agentic_rl.backends.verl.mapping import AGENT_LOOP_WORKERS, ALWAYS, BY_DEVICE, TABLE, Setting, uses_critic
from agentic_rl.config.diagnostics import Finding
from agentic_rl.config.flat.schema import FlatConfig
from agentic_rl.config.verl_native.installation import Installation, installed
from agentic_rl.machine.devices import accelerator

if TYPE_CHECKING:
    from omegaconf import DictConfig


@dataclass(frozen=True)
class Assignment:
    """One key of verl with the value that it gets."""

    native: str
    """verl's dotted key."""
    value: Any
    added: bool
    """Whether verl's templates lack the key."""
    origin: str = ""
    """Our dotted key; empty where the adapter decides."""


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
    from omegaconf import OmegaConf  # after composing, which says in one line that verl and its packages are missing

    for one in assignments(setting, composed):
        OmegaConf.update(composed, one.native, _literal(one.value), force_add=one.added)
    native: dict[str, Any] = OmegaConf.to_container(composed, resolve=True)
    return native


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
    given = assignments(setting, compose(template, setting.installation))
    named = [] if template == TEMPLATE else [f"--config-name={template}"]
    return [*named, *(f"{'+' * one.added}{one.native}={hydra_text(_literal(one.value))}" for one in given)]


def agent_loops(config: FlatConfig, names: Sequence[str] = (), *, device: str | None = None) -> list[dict[str, Any]]:
    """The content of `agent_loops.yaml`: our loop under the configured agent's name and each further one of `names`.

    `names` are the agents that rows of the data ask for.
    """
    from agentic_rl.backends.verl.inside.settings import settings_of

    workers = 1 if resolved_device(config, device) == "cpu" else AGENT_LOOP_WORKERS
    settings = settings_of(config, workers)
    # The user's file is the configured agent; the others are built in, registered or installed.
    others = [replace(settings, agent_name=name, agent_file=None) for name in dict.fromkeys(names)]
    every = [settings, *(one for one in others if one.agent_name != config.agent_name)]
    return [{"name": one.agent_name, "_target_": AGENT_LOOP, "settings": one.to_text()} for one in every]


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
    return [
        finding(NATIVE_KEY, one.origin or "train_backend", _lacking(one.native), "install the verl that ARL511 names")
        for one in _wanted(setting, _engine_of(composed))
        if not one.added and not _has(composed, one.native)
    ]


def assignments(setting: Setting, composed: DictConfig) -> list[Assignment]:
    """What is set in verl's composed configuration, each native key once, in the order of the mapping.

    Raises:
        NativeConfigError: verl's configuration lacks a key.
    """
    given: dict[str, Assignment] = {}
    for one in _wanted(setting, _engine_of(composed)):
        if not one.added and not _has(composed, one.native):
            raise NativeConfigError(_lacking(one.native), "install the verl that `agentic-rl explain ARL511` names")
        given[one.native] = one
    return list(given.values())


def resolved_device(config: FlatConfig, device: str | None = None) -> str:
    """npu, gpu or cpu: as asked for, as configured, or what this machine has."""
    wanted = device or config.device
    return accelerator() or "cpu" if wanted == "auto" else wanted


def _setting(config: FlatConfig, installation: Installation | None, device: str | None, folder: Path | None) -> Setting:
    if config.verl is None:
        raise NativeConfigError("the configuration has no section verl", "add the section `verl:`")
    chosen = config.model_copy(update={"device": resolved_device(config, device)})
    path = folder or run_path(config.verl.project_name, config.verl.experiment_name)
    return Setting(chosen, installation or installed(), path.absolute())


def _wanted(setting: Setting, engine: str) -> Iterator[Assignment]:
    """The table's values first: what the adapter decides for a device comes after them and wins."""
    config = setting.config
    for entry in TABLE:
        for native in entry.natives:
            if native.engine in ("any", engine) and _applies(native.key, config):
                yield Assignment(native.key, entry.value_of(config, native), native.added, entry.key)
    for fixed in (*ALWAYS, *BY_DEVICE.get(config.device, ())):
        if fixed.engine in ("any", engine) and _applies(fixed.key, config):
            value = fixed.value(setting)
            if value is not None:
                yield Assignment(fixed.key, value, fixed.added)


def _applies(key: str, config: FlatConfig) -> bool:
    return not key.startswith("critic.") or key == "critic.enable" or uses_critic(config)


def _engine_of(composed: DictConfig) -> str:
    """The training engine of a template; the one for FSDP is called `dp` there."""
    return "megatron" if composed.model_engine == "megatron" else "fsdp"


def _has(composed: DictConfig, key: str) -> bool:
    node: Any = composed
    *parents, name = key.split(".")
    for parent in parents:
        if parent not in node:
            return False
        node = node[parent]
    return name in node.keys()  # noqa: SIM118 - `name in node` is false where verl asks for a value (`???`)


def _lacking(key: str) -> str:
    return f"the installed verl has no key {key}"


def _literal(value: Any) -> Any:
    """Text as it stands: in a configuration of Hydra `${` begins a reference to another key."""
    if isinstance(value, list):
        return [_literal(item) for item in value]
    return value.replace("${", "\\${") if isinstance(value, str) else value
