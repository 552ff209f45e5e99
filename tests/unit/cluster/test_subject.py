"""What is supervised: the command, the folder, and what comes before the first start."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from agentic_rl.backends.errors import TrainingError
from agentic_rl.cluster.retention import UncleanError
from agentic_rl.cluster.status import NodeStatus, State, StatusFile
from agentic_rl.cluster.subject import Subject, Wishes, empty, of_set
from cluster_doubles import make_set


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def subject_of(configs: Path, *overrides: str, **wishes: object) -> Subject:
    given = Wishes(**wishes)  # type: ignore[arg-type]
    return of_set(configs / "hosts.conf", configs / "base.conf", None, overrides, given)


def test_a_set_without_a_start_script_is_launched(tmp_path: Path) -> None:
    configs = make_set(tmp_path / "set", max_retries=7, clean_old_ckpt=1)
    subject = subject_of(configs, "verl_conf.trainer.save_freq=5")
    hosts, base = str(configs / "hosts.conf"), str(configs / "base.conf")
    launching = (sys.executable, "-m", "agentic_rl", "launch", "--hosts", hosts, "--base", base)
    assert subject.job.command == (*launching, "verl_conf.trainer.save_freq=5")
    assert subject.job.run == tmp_path / "checkpoints" / "instances" / "hybrid"
    assert (subject.job.policy.max_retries, subject.empties, subject.notes) == (7, True, [])


@pytest.mark.parametrize("written", ["start_rl_with_verl_vllm.sh", "bash scripts/start_rl_with_verl_vllm.sh"])
def test_the_start_script_is_found_and_told_of_the_files(tmp_path: Path, written: str) -> None:
    configs = make_set(tmp_path / "set", monitor_cmd=written)
    subject = subject_of(configs)
    script = str(tmp_path / "set" / "scripts" / "start_rl_with_verl_vllm.sh")
    assert tuple(subject.job.command) == ("bash", script)
    assert subject.job.environment == {"AGENTIC_RL_CONFIGS": str(configs)}


def test_a_start_script_that_is_nowhere_is_an_error(tmp_path: Path) -> None:
    configs = make_set(tmp_path / "set", monitor_cmd="start_mine_with_verl.sh")
    with pytest.raises(TrainingError, match=r"there is no start_mine_with_verl\.sh; looked for"):
        subject_of(configs)
    configs = make_set(tmp_path / "other", monitor_cmd="bash 'start.sh")
    with pytest.raises(TrainingError, match="can't be split"):
        subject_of(configs)


def test_the_command_line_wins_over_base_conf(tmp_path: Path) -> None:
    configs = make_set(tmp_path / "set", max_retries=7, clean_old_ckpt=1)
    subject = subject_of(configs, max_retries=0, clean=False, first_wait=1.0)
    assert (subject.job.policy.max_retries, subject.job.policy.first_wait, subject.empties) == (0, 1.0, False)
    assert subject_of(configs).job.policy.first_wait == 5


def test_retries_without_checkpoints_are_a_warning(tmp_path: Path) -> None:
    configs = make_set(tmp_path / "set")
    never = "verl_conf.trainer.save_freq=-1"
    assert "every retry begins with the first step" in subject_of(configs, never).notes[0]
    assert subject_of(configs, never, max_retries=0).notes == []


def old_run(subject: Subject) -> Path:
    assert subject.job.run is not None
    (subject.job.run / "global_step_4").mkdir(parents=True)
    return subject.job.run


def supervised_before(subject: Subject, state: State) -> None:
    with StatusFile(subject.job.status_file, NodeStatus(0, "supervisor")) as file:
        file.update(state=state)


def test_the_folder_is_emptied_before_the_first_start(tmp_path: Path) -> None:
    subject = subject_of(make_set(tmp_path / "set", clean_old_ckpt=1))
    run = old_run(subject)
    assert empty(subject) == [f"emptied {run}: removed global_step_4"]
    assert not (run / "global_step_4").exists()


@pytest.mark.parametrize(("state", "emptied"), [("finished", True), ("running", False), ("gave up", False)])
def test_a_supervisor_that_is_started_again_goes_on(tmp_path: Path, state: State, emptied: bool) -> None:
    subject = subject_of(make_set(tmp_path / "set", clean_old_ckpt=1))
    run = old_run(subject)
    supervised_before(subject, state)
    (line,) = empty(subject)
    assert (run / "global_step_4").exists() is not emptied
    assert line.startswith("emptied" if emptied else "not emptied")


def test_without_the_wish_nothing_is_emptied(tmp_path: Path) -> None:
    subject = subject_of(make_set(tmp_path / "set"))
    run = old_run(subject)
    assert empty(subject) == []
    assert (run / "global_step_4").exists()


def test_a_folder_of_ones_own_choice_is_never_emptied(tmp_path: Path) -> None:
    configs = make_set(tmp_path / "set", clean_old_ckpt=1)
    home = tmp_path / "home"
    subject = subject_of(configs, f"verl_conf.trainer.default_local_dir={home}")
    assert subject.job.run == home
    (home / "global_step_4").mkdir(parents=True)
    with pytest.raises(UncleanError, match="the run lies in"):
        empty(subject)
    assert (home / "global_step_4").exists()
