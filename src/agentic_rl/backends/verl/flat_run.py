"""A run of verl that the flat format describes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentic_rl.backends.run_folder import run_path
from agentic_rl.backends.verl.checkpoints import Checkpoint, newest
from agentic_rl.backends.verl.inside.settings import RolloutSettings, settings_of
from agentic_rl.backends.verl.mapping import verl_section
from agentic_rl.backends.verl.rendering import check_template, overrides, render, resolved_device
from agentic_rl.backends.verl.run import Limits
from agentic_rl.backends.verl.translation import flat_finding
from agentic_rl.config.diagnostics import Finding
from agentic_rl.config.verl_native.installation import Installation

if TYPE_CHECKING:
    from agentic_rl.backends.verl.native_check import NativeFinding
    from agentic_rl.config.load import Loaded
    from agentic_rl.config.secure_paths import CheckedPath

SAID_BEFORE = {
    "ARL528": ("ARL221", "ARL270"),
    "ARL531": ("ARL240",),
    "ARL532": ("ARL241",),
    "ARL536": ("ARL230",),
    "ARL538": ("ARL213",),
    "ARL544": ("ARL232",),
}
"""Rule about verl's keys -> the rules about ours that say the same when the file is read."""


class FlatRun:
    """Implements `VerlRun`.

    Raises:
        LookupError: the configuration has no section `verl`.
        ConfigError: the file has an error.
    """

    def __init__(self, loaded: Loaded, installation: Installation) -> None:
        self.loaded = loaded
        self._config = loaded.require_flat()
        self._section = verl_section(self._config)
        self._installation = installation
        self.project_name = self._section.project_name
        self.experiment_name = self._section.experiment_name
        self.agent_name = self._config.agent_name
        self._said = {(one.code, one.severity) for one in loaded.report}

    @property
    def folder(self) -> Path:
        """`checkpoints/<project>/<experiment>` below the current folder."""
        return run_path(self.project_name, self.experiment_name)

    @property
    def device(self) -> str:
        """As configured, or what this machine has."""
        return resolved_device(self._config)

    @property
    def limits(self) -> Limits:
        """The format has a key for each."""
        return Limits(
            max_failed_fraction=self._config.max_failed_fraction,
            keep_checkpoints=self._config.keep_checkpoints,
            start_limit=self._section.startup_timeout,
            stepwise=self._config.use_stepwise_advantage,
        )

    def beginning(self) -> Checkpoint | None:
        """The newest of its folder."""
        return newest(self.folder)

    @property
    def data(self) -> Mapping[str, CheckedPath]:
        """The files of the section."""
        checked = self.loaded.checked
        return {key: checked[key] for key in ("verl.train_files", "verl.val_files") if key in checked}

    @property
    def train_rows(self) -> int | None:
        """As the check of the file has counted them."""
        return self.loaded.facts.get("@train.rows")

    @property
    def known(self) -> dict[str, Any]:
        """The values as they are."""
        return {**self.loaded.values, **self.loaded.facts}

    def native(self) -> dict[str, Any]:
        """By the mapping."""
        return render(self._config, installation=self._installation)

    def overrides(self) -> list[str]:
        """By the mapping."""
        return overrides(self._config, installation=self._installation)

    def rollouts(self, workers: int) -> RolloutSettings:
        """The workers share `n_parallel_agents`."""
        return settings_of(self._config, workers)

    def problems(self) -> Iterable[Finding]:
        """Keys of the mapping that the installed verl lacks."""
        return check_template(self._config, installation=self._installation)

    def said_before(self, found: NativeFinding) -> bool:
        """By a rule about our keys."""
        return any((code, found.severity) in self._said for code in SAID_BEFORE.get(found.code, ()))

    def told(self, found: NativeFinding) -> Finding:
        """By our key, which the mapping knows."""
        return flat_finding(found)

    def record(self) -> Mapping[str, Any]:
        """Without the sections of other backends."""
        written: dict[str, Any] = self._config.model_dump(
            mode="json", exclude_none=True, exclude={"local", "mindspeed_rl"}
        )
        return written
