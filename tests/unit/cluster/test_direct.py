"""Direct mode: the entrypoints of a file as jobs of their own. The trainer is a double: no backend trains here."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path

import pytest

from agentic_rl.backends.errors import TrainingError
from agentic_rl.cluster import direct
from agentic_rl.cluster.direct import commands_of, run_direct
from agentic_rl.config.diagnostics import ConfigError
from agentic_rl.config.load import load
from agentic_rl.config.loaded import Loaded

HEAD = """\
agentic_ai:
  mode: {mode}
  log_level: {level}
  log_dir: {logs}
serve_conf: {{}}
direct_conf:
  entrypoints:
"""
INSTANCE = """\
  - name: {name}
    executor_kwargs:
      cluster_mode: hybrid
      train_engine: verl
      train_config: ${{verl_conf}}
"""
VERL = """\
verl_conf:
  data: {train_files: /data/train.parquet, val_files: /data/test.parquet}
  actor_rollout_ref:
    model: {path: /models/qwen}
    rollout: {do_sample: true}
  trainer: {project_name: mine}
"""
ENTRYPOINT = "    - {{job_type: {kind}, job_name: {name}}}\n"


def written(folder: Path, *names: str, kind: str = "train", level: str = "INFO", mode: str = "direct") -> Path:
    """A configuration with a job for each name."""
    (folder / "logs").mkdir(exist_ok=True)
    text = HEAD.format(mode=mode, level=level, logs=folder / "logs")
    text += "".join(ENTRYPOINT.format(kind=kind, name=name) for name in names)
    text += "train_instances:\n" + "".join(INSTANCE.format(name=name) for name in dict.fromkeys(names))
    text += VERL
    path = folder / "config.yaml"
    path.write_text(text)
    return path


def loaded(folder: Path, *names: str, **how: str) -> Loaded:
    """The same, read."""
    return load(written(folder, *names, **how), files=False, environ={})


@pytest.fixture(autouse=True)
def _fake(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(direct, "ENTRYPOINT", "fake_entrypoint")
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))


def log(folder: Path, name: str) -> str:
    return (folder / "logs" / f"{name}.log").read_text()


def test_each_entrypoint_is_a_job_with_its_own_log(tmp_path: Path) -> None:
    assert run_direct(loaded(tmp_path, "A", "B")) == 0
    assert "training A as mine" in log(tmp_path, "A")
    assert "training B as mine" in log(tmp_path, "B")
    assert "training B" not in log(tmp_path, "A")


def test_overrides_reach_the_jobs(tmp_path: Path) -> None:
    assert run_direct(loaded(tmp_path, "A"), ["verl_conf.trainer.project_name=other"]) == 0
    assert "training A as other" in log(tmp_path, "A")


def test_one_failure_is_the_status_of_all_and_ends_none_of_the_others(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run_direct(loaded(tmp_path, "A", "BAD")) == 1
    assert "error it broke\n    fix: mend it" in log(tmp_path, "BAD")
    assert "training A" in log(tmp_path, "A")
    assert f"BAD: ended with status 1, see {tmp_path}/logs/BAD.log" in capfd.readouterr().out


@pytest.mark.parametrize(("level", "told"), [("INFO", True), ("WARNING", False)])
def test_log_level_is_that_of_the_messages(tmp_path: Path, level: str, told: bool) -> None:
    assert run_direct(loaded(tmp_path, "A", level=level)) == 0
    text = log(tmp_path, "A")
    assert ("INFO agentic_rl.some: told" in text) == told
    assert "WARNING agentic_rl.some: warned" in text
    assert "note ARL551 verl_conf: told by the trainer" in text
    assert f"levels {level} {level}" in text


def test_a_level_in_the_environment_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VERL_LOGGING_LEVEL", "ERROR")
    assert run_direct(loaded(tmp_path, "A")) == 0
    assert "levels ERROR INFO" in log(tmp_path, "A")


def test_a_signal_stops_every_job_and_is_the_status(tmp_path: Path) -> None:
    def send() -> None:
        for _ in range(400):
            if Path("up").exists():
                break
            time.sleep(0.05)
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=send).start()
    assert run_direct(loaded(tmp_path, "SLOW")) == 130


def test_without_an_entrypoint_there_is_nothing_to_run(tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match="no job to run"):
        run_direct(load(written_empty(tmp_path), files=False, environ={}))


def written_empty(folder: Path) -> Path:
    """A configuration of direct mode without jobs."""
    path = folder / "config.yaml"
    path.write_text(f"agentic_ai:\n  mode: direct\n  log_dir: {folder}\n")
    return path


def test_an_unknown_kind_of_job_is_an_error(tmp_path: Path) -> None:
    found = loaded(tmp_path, "A", kind="evaluate")
    assert [one.key for one in found.report if one.severity == "error"] == ["direct_conf.entrypoints[0].job_type"]
    with pytest.raises(ConfigError):
        run_direct(found)


def test_a_log_that_can_not_be_written_is_an_error(tmp_path: Path) -> None:
    found = loaded(tmp_path, "A")
    (tmp_path / "logs" / "A.log").mkdir()
    with pytest.raises(TrainingError, match=r"A\.log: Is a directory"):
        run_direct(found)


def test_jobs_whose_names_look_alike_as_files_have_logs_of_their_own(tmp_path: Path) -> None:
    config = loaded(tmp_path, "A/B", "A_B").require_aura()
    commands = list(commands_of(config, "config.yaml"))
    assert [one.log.name for one in commands] == ["A_B.log", "A_B-2.log"]
    assert list(commands[0].arguments[1:]) == ["-m", "fake_entrypoint", "config.yaml", "--instance=A/B"]


def test_the_service_runs_as_long_as_the_jobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(direct, "PROGRAM", "fake_service")
    found = loaded(tmp_path, "A", mode="direct_with_serve")
    assert run_direct(found, ["agentic_ai.log_level=ERROR"]) == 0
    started = f"serving --config-path {found.document.file} agentic_ai.log_level=ERROR agentic_ai.mode=serve\n"
    assert log(tmp_path, "service-output") == started


def test_a_service_that_fails_is_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(direct, "PROGRAM", "no_such_module")
    assert run_direct(loaded(tmp_path, "A", mode="direct_with_serve")) == 1
