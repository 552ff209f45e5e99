"""What is supervised: one configuration, or the part of this node in a set of hosts.conf, base.conf and YAML files."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from agentic_rl.backends.errors import TrainingError
from agentic_rl.cluster.node import own_node
from agentic_rl.cluster.retention import UncleanError, clean, run_folder
from agentic_rl.cluster.retry import RetryPolicy
from agentic_rl.cluster.run_place import RunPlace, place_of
from agentic_rl.cluster.status import FOLDER, read
from agentic_rl.cluster.supervise import Supervised
from agentic_rl.config.aura.base_conf import BaseConf, script_name
from agentic_rl.config.aura.bundle import Bundle, load_bundle
from agentic_rl.config.diagnostics import ConfigError, Report
from agentic_rl.config.load import load

PROGRAM = (sys.executable, "-m", "agentic_rl")
SCRIPTS = "scripts"
CONFIGS = "AGENTIC_RL_CONFIGS"
"""Environment variable: where the start scripts find hosts.conf and base.conf."""


@dataclass(frozen=True)
class Subject:
    """What is supervised, and what comes before it."""

    job: Supervised
    place: RunPlace | None
    report: Report
    empties: bool = False
    """Whether the run's folder is emptied before the first start."""
    notes: list[str] = field(default_factory=list)

    def with_policy(self, policy: RetryPolicy) -> Subject:
        """The same under another policy."""
        return replace(self, job=replace(self.job, policy=policy))


@dataclass(frozen=True)
class Wishes:
    """What the command line says; None: base.conf decides, or the default."""

    max_retries: int | None = None
    clean: bool | None = None
    first_wait: float | None = None
    longest_wait: float | None = None

    def policy(self, conf: BaseConf | None = None) -> RetryPolicy:
        """The policy of retries."""
        policy = RetryPolicy(max_retries=conf.max_retries if conf else RetryPolicy.max_retries)
        own = {name: getattr(self, name) for name in ("max_retries", "first_wait", "longest_wait")}
        return replace(policy, **{name: value for name, value in own.items() if value is not None})

    def cleans(self, conf: BaseConf | None = None) -> bool:
        """Whether the folder is emptied."""
        return bool(conf and conf.clean_old_ckpt) if self.clean is None else self.clean


def of_config(path: Path, overrides: Sequence[str], wishes: Wishes) -> Subject:
    """The job of one configuration, of any format.

    Raises:
        ConfigError: the configuration has a finding of severity error.
    """
    loaded = load(path, overrides)
    if loaded.report.verdict == "error":
        raise ConfigError(loaded.report)
    command = (*PROGRAM, "--config-path", str(path), *overrides)
    return _subject(command, place_of(loaded), report=loaded.report, wishes=wishes)


def of_set(hosts: Path, base: Path, node: int | None, overrides: Sequence[str], wishes: Wishes) -> Subject:
    """This node's part in a set: the start script that base.conf names, or launching where it names none.

    Raises:
        ConfigError: a file has a finding of severity error.
        ClusterError: no row of hosts.conf is this machine's.
    """
    bundle = load_bundle(base, overrides, hosts_path=hosts, base_path=base)
    conf, place = _checked(bundle)
    assert bundle.hosts is not None  # noqa: S101 - named, so that it was read
    own = own_node(bundle.hosts, node)
    given = [*(() if node is None else ("--node", str(node))), *overrides]
    launching = (*PROGRAM, "launch", "--hosts", str(hosts), "--base", str(base))
    command = _start_script(conf.monitor_cmd, base) if conf.monitor_cmd else launching
    return _subject(
        (*command, *given),
        place,
        node=own.index,
        report=bundle.report,
        wishes=wishes,
        conf=conf,
        environment={CONFIGS: str(base.absolute().parent)},
        cleans_here=own.train_master,
    )


def _checked(bundle: Bundle) -> tuple[BaseConf, RunPlace | None]:
    if bundle.report.verdict == "error" or not (bundle.base and bundle.base.conf and bundle.train):
        raise ConfigError(bundle.report)
    return bundle.base.conf, place_of(bundle.train)


def _subject(
    command: Sequence[str],
    place: RunPlace | None,
    *,
    node: int = 0,
    report: Report,
    wishes: Wishes,
    conf: BaseConf | None = None,
    environment: Mapping[str, str] | None = None,
    cleans_here: bool = True,
) -> Subject:
    policy = wishes.policy(conf)
    run = place.path if place else None
    states = (run or Path.cwd()) / FOLDER
    job = Supervised(command, run, states, environment or {}, node, policy)
    notes = []
    if place and place.save_freq == -1 and policy.max_retries:
        notes.append("warning: save_freq is -1, so nothing is saved and every retry begins with the first step")
    return Subject(job, place, report, wishes.cleans(conf) and cleans_here, notes)


def _start_script(command: str, base: Path) -> tuple[str, ...]:
    """The words of a `monitor_cmd`; its script is found as it is written, beside base.conf, or in `scripts`.

    Raises:
        TrainingError: there is no such script.
    """
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise TrainingError(f"monitor_cmd {command!r} can't be split into words: {error}", "close its quotes") from None
    name = script_name(command)
    at = next((number for number, word in enumerate(words) if Path(word).name == name), 0)
    folder = base.absolute().parent
    places = [Path(words[at]), folder / name, folder / SCRIPTS / name, folder.parent / SCRIPTS / name]
    places.append(Path(SCRIPTS) / name)
    found = next((place.absolute() for place in places if place.is_file()), None)
    if found is None:
        looked = ", ".join(str(place) for place in dict.fromkeys(places))
        raise TrainingError(
            f"monitor_cmd {command!r}: there is no {name}; looked for {looked}",
            "agentic-rl init instances DIR writes the start scripts; or remove monitor_cmd: launching is watched then",
        )
    before = words[:at] or ([] if os.access(found, os.X_OK) else ["bash"])
    return (*before, str(found), *words[at + 1 :])


def empty(subject: Subject) -> list[str]:
    """Empty the run's folder before the first start, if that is wanted; a line for each thing that was done.

    A supervisor that is itself started again, by a scheduler say, goes on with the run: its first start was before.

    Raises:
        UncleanError: it holds what is not of a run, or is not a folder of one run.
        RunFolderBusyError: a process trains there.
    """
    place = subject.place
    if not subject.empties or place is None:
        return []
    earlier = read(subject.job.status_file)
    if earlier is not None and earlier.state != "finished":
        return [
            f"not emptied: {place.path} is of a run that was supervised before and is not finished ({earlier.state}); "
            f"it goes on. To begin again remove {subject.job.status_file}"
        ]
    if not place.is_usual:
        raise UncleanError(
            f"clean_old_ckpt empties checkpoints/<project_name>/<experiment_name> only; the run lies in {place.path}",
            "clean_old_ckpt=0, or leave trainer.default_local_dir out",
        )
    removed = clean(run_folder(place.root, place.project, place.experiment))
    return [f"emptied {place.path}: removed {', '.join(removed)}"] if removed else []
