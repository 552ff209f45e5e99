"""A run of verl that the instances format describes."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentic_rl.backends.errors import BackendUnavailableError, NativeConfigError
from agentic_rl.backends.run_folder import TRAJECTORIES, run_path
from agentic_rl.backends.verl.assignments import arguments, assigned, engine_of, has
from agentic_rl.backends.verl.checkpoints import Checkpoint, newest
from agentic_rl.backends.verl.composition import TEMPLATE, compose
from agentic_rl.backends.verl.findings import NATIVE_KEY, finding
from agentic_rl.backends.verl.inside.settings import RolloutSettings
from agentic_rl.backends.verl.instances.agents import AgentSettings
from agentic_rl.backends.verl.instances.apart import apart
from agentic_rl.backends.verl.instances.decided import Decided, decide, own_manager
from agentic_rl.backends.verl.instances.effects import engine_note, without_effect
from agentic_rl.backends.verl.instances.findings import AGENT, NO_AGENT
from agentic_rl.backends.verl.instances.memory import flat_values_of
from agentic_rl.backends.verl.instances.origins import Origins
from agentic_rl.backends.verl.instances.parts import Parts, parts_of
from agentic_rl.backends.verl.instances.section import Section, section_of
from agentic_rl.backends.verl.instances.tree import ENGINES, file_assignments, leaves
from agentic_rl.backends.verl.mapping import Setting
from agentic_rl.backends.verl.run import EVERY, Limits
from agentic_rl.config.agent_names import is_known_agent, known_agents
from agentic_rl.config.artifacts.json_file import NotUsableError
from agentic_rl.config.artifacts.parquet_file import OutOfBoundsError, ParquetData
from agentic_rl.config.diagnostics import Finding
from agentic_rl.config.flat.schema import FlatConfig
from agentic_rl.config.flat.verl import VerlSection
from agentic_rl.config.secure_paths import CheckedPath
from agentic_rl.config.verl_native.installation import Installation

if TYPE_CHECKING:
    from omegaconf import DictConfig

    from agentic_rl.backends.verl.native_check import NativeFinding
    from agentic_rl.config.load import Loaded

_STEP = re.compile(r"global_step_(\d{1,18})")


class InstancesRun:
    """Implements `VerlRun`.

    Raises:
        ConfigError: the file has an error.
        InstanceError: it is not clear which instance trains.
    """

    def __init__(self, loaded: Loaded, installation: Installation, instance: str | None = None) -> None:
        self.loaded = loaded
        self._config = config = loaded.require_aura()
        self._installation = installation
        self._section: Section = section_of(loaded, config, instance)
        self._conf = self._section.conf
        self._parts: Parts = parts_of(config, self._conf, instance)
        self._origins: Origins = self._section.origins
        self._agent = self._agent_settings()
        trainer = self._conf.trainer
        self.project_name = trainer.project_name or "verl_examples"
        self.experiment_name = trainer.experiment_name or self._parts.train.name
        self.agent_name = self._agent.name if self._agent else ""

    # ------------------------------ where and how far ------------------------------

    @property
    def folder(self) -> Path:
        """`checkpoints/<project>/<experiment>` below the current folder, or what `default_local_dir` says."""
        given = self._written("trainer.default_local_dir")
        if isinstance(given, str) and given:
            return Path(given).absolute()
        return run_path(self.project_name, self.experiment_name)

    @property
    def device(self) -> str:
        """As the file says; verl's own word for a GPU is taken, too."""
        return {"cuda": "gpu"}.get(self._conf.trainer.device, self._conf.trainer.device)

    def beginning(self) -> Checkpoint | None:
        """The newest of its folder, unless `resume_mode` is `disable`; before there is one, `resume_from_path`."""
        mode = self._written("trainer.resume_mode")
        if mode == "disable":
            return None
        found = newest(self.folder)
        named = self._written("trainer.resume_from_path")
        if found is not None or mode != "resume_path" or not isinstance(named, str):
            return found
        step = _STEP.fullmatch(Path(named).name)
        return Checkpoint(int(step[1]), Path(named).absolute()) if step else None

    @property
    def limits(self) -> Limits:
        """The format has few of these keys; the flat format's defaults hold for the others."""
        kept = self._written("trainer.max_actor_ckpt_to_keep")
        return Limits(
            max_failed_fraction=FlatConfig.model_fields["max_failed_fraction"].default,
            keep_checkpoints=kept if isinstance(kept, int) and kept > 0 else EVERY,
            start_limit=VerlSection.model_fields["startup_timeout"].default,
            trajectories=self._trajectories(),
        )

    @property
    def data(self) -> Mapping[str, CheckedPath]:
        """The two files of `data`."""
        found = {}
        for name in ("train_files", "val_files"):
            key, path = self._key(f"data.{name}"), getattr(self._conf.data, name)
            if key in self.loaded.checked:
                found[key] = self.loaded.checked[key]
            elif path and Path(path).is_file():
                found[key] = CheckedPath.of(path, os.lstat(path))
        return found

    @cached_property
    def train_rows(self) -> int | None:
        """As the file's footer says."""
        checked = self.data.get(self._key("data.train_files"))
        try:
            if checked is None:
                return None
            with checked.open() as file:
                return ParquetData(file).rows
        except (NotUsableError, OutOfBoundsError, OSError, ImportError):
            return None

    @property
    def known(self) -> dict[str, Any]:
        """Verl's values under the flat format's keys."""
        try:
            values = flat_values_of(self.native(), self.device)
        except (BackendUnavailableError, NativeConfigError):
            values = {}
        in_flight = self._agent.instance.executor_kwargs.agent_engine_kwargs.n_parallel_agents if self._agent else 0
        return {**values, "n_parallel_agents": in_flight, **self.loaded.facts}

    # ------------------------------ verl's configuration ------------------------------

    def native(self) -> dict[str, Any]:
        """The file's values, and what the adapter decides, in verl's own template."""
        composed = self._composed()
        return assigned(composed, self._assignments(composed).given)

    def overrides(self) -> list[str]:
        """The same as arguments."""
        composed = self._composed()
        engine = ENGINES[self._conf.actor_rollout_ref.actor.strategy]
        chosen = [] if engine == "dp" else [f"model_engine={engine}"]
        return [*chosen, *arguments(TEMPLATE, self._assignments(composed).given)]

    def rollouts(self, workers: int) -> RolloutSettings:
        """As the agent instance says."""
        if self._agent is None:
            raise NativeConfigError("the train instance has no agent", "name one in agent_service")
        return self._agent.rollouts(self._rendered, workers)

    @cached_property
    def _rendered(self) -> dict[str, Any]:
        return self.native()

    def _composed(self) -> DictConfig:
        engine = ENGINES[self._conf.actor_rollout_ref.actor.strategy]
        return compose(TEMPLATE, self._installation, [f"model_engine={engine}"])

    def _assignments(self, composed: DictConfig) -> Decided:
        own = file_assignments(self._conf.native(), self._section.key, self._origins, composed)
        decided = decide(self._conf, self._setting(), engine_of(composed), self._agent)
        before = {one.native: one for one in [*own, *decided.given]}
        if self._parts.train.executor_kwargs.cluster_mode != "hybrid":
            written = frozenset(one for one in before if self._origins.wrote(self._key(one)))
            settled = [replace(one, added=not has(composed, one.native)) for one in before.values()]
            changes = apart(assigned(self._composed(), settled), self._parts.infer, written)
            decided.said += changes.said
            before |= {one.native: one for one in changes.given}
        given = [replace(one, added=not has(composed, one.native)) for one in before.values()]
        return Decided(given, decided.said)

    def _setting(self) -> Setting:
        written = frozenset(key for key, _ in leaves(self._conf.native()) if self._origins.wrote(self._key(key)))
        trainer = self._conf.trainer
        return Setting(self.device, trainer.n_gpus_per_node, self._installation, self.folder, written)

    # ------------------------------ findings ------------------------------

    def problems(self) -> Iterable[Finding]:
        """Agent and services, keys without effect, and what the adapter reads in another way."""
        try:
            said = self._assignments(self._composed()).said
        except NativeConfigError as error:
            return [self._origins.placed(finding(NATIVE_KEY, self._section.key, error.message, error.hint))]
        own = [Finding(one.code, one.severity, self._key(one.key), one.message, one.hint) for one in said]
        return [self._origins.placed(one) for one in (*self._of_agent(), *own, *self._dead())]

    def said_before(self, found: NativeFinding) -> bool:
        """With the same number at the same key."""
        key = self._key(found.key)
        return any(one.code == found.code and one.key == key for one in self.loaded.report)

    def told(self, found: NativeFinding) -> Finding:
        """At the key of the file, which is verl's below the section."""
        key = self._key(found.key) if found.key else self._section.key
        name = found.key.rpartition(".")[2]
        hint = found.hint if not found.key or ":" in found.hint or found.is_prose else f"{name}: {found.hint}"
        return self._origins.placed(Finding(found.code, found.severity, key, found.message, hint))

    def record(self) -> Mapping[str, Any]:
        """The whole file with documented defaults."""
        written: Mapping[str, Any] = self._config.given()
        return written

    def _of_agent(self) -> Iterator[Finding]:
        if own_manager(self._conf):
            return
        key = f"{self._parts.kwargs_key}.agent_service"
        if self._agent is None:
            hint = "agent_service: the name of an agent instance"
            yield finding(NO_AGENT, key, "no agent instance acts for this train instance", hint)
            return
        if self._agent.file is None and not self._is_known(self._agent.name):
            key = f"{self._parts.agent_kwargs_key}.agent_engine_kwargs.agent_name"
            message = f"{self._agent.name!r} is no built-in, registered or installed agent"
            yield finding(AGENT, key, message, f"one of {', '.join(known_agents())}, or module:Class")
        yield engine_note(self._parts, self._agent)

    def _is_known(self, name: str) -> bool:
        from importlib.util import find_spec

        foreign = self._agent is not None and self._agent.engine == "rllm" and find_spec("rllm") is not None
        return is_known_agent(name) or foreign

    def _dead(self) -> Iterator[Finding]:
        values = dict(leaves(self._conf.native()))
        return without_effect(self._parts, self._section.key, self._agent, self._origins.wrote, values)

    # ------------------------------ keys ------------------------------

    def _key(self, native: str) -> str:
        return f"{self._section.key}.{native}"

    def _written(self, native: str) -> Any:
        """The value of one of verl's keys that a person wrote; None where nobody did."""
        return dict(leaves(self._conf.native())).get(native) if self._origins.wrote(self._key(native)) else None

    def _agent_settings(self) -> AgentSettings | None:
        if self._parts.agent is None:
            return None
        key = f"{self._parts.agent_kwargs_key}.agent_engine_kwargs.max_steps"
        return AgentSettings(self._parts.agent, self._origins.wrote(key))

    def _trajectories(self) -> str:
        given = self._agent.instance.executor_kwargs.trajectory_save_dir if self._agent else None
        if not given:
            return ""
        path = Path(given).absolute()
        return str(path if path.suffix else path / TRAJECTORIES)
