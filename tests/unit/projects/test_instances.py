"""`agentic-rl init instances DIR`: the files, the scripts, and that nothing but the placeholders is wrong with them."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from stat import S_IMODE

import pytest

from agentic_rl.config.aura.bundle import load_bundle
from agentic_rl.projects import create, next_step
from example_tree import write_tree

SCRIPTS = Path(__file__).parents[3] / "scripts"
NAMES = ("start_rl_with_msrl_vllm", "start_rl_with_resume", "start_rl_with_resume_verl", "start_rl_with_verl_vllm")
FILES = {
    "README.md",
    "configs/base.conf",
    "configs/hosts.conf",
    "configs/infer/vllm.yaml",
    "configs/train/verl_hybrid.yaml",
    "configs/train/verl_one_step_off.yaml",
    *(f"scripts/{name}.sh" for name in NAMES),
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    create("instances", tmp_path / "project", seed=3)
    return tmp_path / "project"


def test_the_project_is_whole(project: Path) -> None:
    paths = [path for path in project.rglob("*") if path.is_file()]
    assert {path.relative_to(project).as_posix() for path in paths} == FILES
    assert (project / "logs").is_dir()
    assert {S_IMODE(path.stat().st_mode) for path in paths} == {0o640}


def test_what_is_filled_in_is_this_projects(project: Path) -> None:
    text = (project / "configs" / "train" / "verl_hybrid.yaml").read_text()
    assert f"log_dir: {project}/logs\n" in text
    assert "    seed: 3 " in text
    assert "job_name: ${train_instances.0.name}\n" in text
    assert f"bash {project}/scripts/start_rl_with_verl_vllm.sh" in (project / "README.md").read_text()
    assert next_step("instances", project).endswith(f"agentic-rl check {project}/configs")


def test_the_conf_files_have_no_finding(project: Path) -> None:
    bundle = load_bundle(project / "configs", environ={})
    assert bundle.hosts is not None
    assert bundle.base is not None
    assert bundle.hosts.findings == bundle.base.findings == []
    assert bundle.train is not None
    assert bundle.inference is None


def with_paths(project: Path, home: Path) -> None:
    """Put files that are there in the place of the placeholders."""
    write_tree(home, {})
    paths = {"train.parquet": "data/train.parquet", "test.parquet": "data/test.parquet", "model": "models/qwen"}
    for path in project.rglob("*.yaml"):
        text = path.read_text()
        for placeholder, name in paths.items():
            text = text.replace(f"/path/to/{placeholder}", str(home / name))
        assert "/path/to" not in text.partition("\n")[2]
        path.write_text(text)


def test_but_for_the_placeholders_hybrid_has_no_finding(project: Path, tmp_path: Path) -> None:
    with_paths(project, tmp_path / "home")
    assert [
        one.to_text() for one in load_bundle(project / "configs", environ={}).report if one.severity != "note"
    ] == []


def test_but_for_the_placeholders_one_step_off_has_no_finding(project: Path, tmp_path: Path) -> None:
    with_paths(project, tmp_path / "home")
    base, hosts = project / "configs" / "base.conf", project / "configs" / "hosts.conf"
    text = base.read_text().replace("work_mode=hybrid", "# hybrid").replace("=verl_hybrid", "=verl_one_step_off")
    text = text.replace("# work_mode=", "work_mode=").replace("# infer_config_name=", "infer_config_name=")
    base.write_text(text)
    hosts.write_text(hosts.read_text().replace("127.0.0.1", "# 127.0.0.1").replace("# 192.0.2", "192.0.2"))
    assert [
        one.to_text() for one in load_bundle(project / "configs", environ={}).report if one.severity != "note"
    ] == []


def test_the_scripts_are_those_of_the_repository(project: Path) -> None:
    if not SCRIPTS.is_dir():
        pytest.skip("not in a clone")
    shipped = {path.name: path.read_text() for path in (project / "scripts").iterdir()}
    assert {path.name: path.read_text() for path in SCRIPTS.iterdir()} == shipped


@pytest.mark.skipif(shutil.which("shellcheck") is None, reason="shellcheck is not installed")
def test_the_scripts_pass_shellcheck(project: Path) -> None:
    subprocess.run(["shellcheck", *(project / "scripts").glob("*.sh")], check=True)


def started(script: Path, folder: Path, *arguments: str, **environment: str) -> list[str]:
    """The command and the configurations that a script ends in, started in `folder`."""
    (folder / "bin").mkdir(exist_ok=True)
    program = folder / "bin" / "agentic-rl"
    program.write_text('#!/bin/sh\nprintf "%s\\n" "$@" "${AGENTIC_RL_CONFIGS:-}"\n')
    program.chmod(0o750)
    path = {"PATH": f"{program.parent}:{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", str(script), *arguments],
        cwd=folder,
        env={**path, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.splitlines()


@pytest.mark.parametrize("name", NAMES)
def test_a_script_starts_from_any_folder(project: Path, tmp_path: Path, name: str) -> None:
    elsewhere = tmp_path / "else where"
    elsewhere.mkdir()
    configs = f"{project}/configs"
    command = "supervise" if "resume" in name else "launch"
    named = configs if command == "supervise" else ""
    options = ["--hosts", f"{configs}/hosts.conf", "--base", f"{configs}/base.conf"]
    lines = started(project / "scripts" / f"{name}.sh", elsewhere, "--node", "1 2")
    assert lines == [command, *options, "--node", "1 2", named]


@pytest.mark.parametrize("name", NAMES)
def test_a_script_takes_configurations_from_elsewhere(project: Path, tmp_path: Path, name: str) -> None:
    lines = started(project / "scripts" / f"{name}.sh", tmp_path, AGENTIC_RL_CONFIGS="/my configs")
    assert lines[1:] == ["--hosts", "/my configs/hosts.conf", "--base", "/my configs/base.conf", "/my configs"]
