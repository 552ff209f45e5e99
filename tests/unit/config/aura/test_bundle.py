"""Files of a set: which belong together, and what is said where."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentic_rl.config.aura.bundle import find_config, load_bundle, naming_set, set_of

HOSTS = "192.0.2.10,0,0\n192.0.2.11,1,1\n"
BASE = "work_mode=one_step_off\ntrain_config_name=big\ninfer_config_name=servers\n"
INFER = "infer_model_name: qwen\ninfer_model_path: /models/qwen\n"
TRAIN = "agentic_ai:\n  mode: direct\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A set whose YAML files are below it."""
    for name, text in {
        "hosts.conf": HOSTS,
        "base.conf": BASE,
        "train/big.yaml": TRAIN,
        "train/other.yaml": TRAIN,
        "infer/servers.yml": INFER,
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def codes(folder: Path) -> list[tuple[str, str]]:
    """File and code of what is said between the files."""
    return [
        (Path(one.file).name, one.code)
        for one in load_bundle(folder, files=False, environ={}).report
        if one.code.startswith("ARL64")
    ]


def test_a_folder_and_its_files_are_one_set(folder: Path) -> None:
    assert set_of(folder) == set_of(folder / "hosts.conf") == set_of(folder / "base.conf") == folder
    assert naming_set(folder / "train" / "big.yaml") == folder
    assert naming_set(folder / "infer" / "servers.yml") == folder
    assert naming_set(folder / "train" / "other.yaml") is None
    assert set_of(folder / "train") is set_of(folder / "train" / "big.yaml") is None


def test_all_files_of_a_set_are_read(folder: Path) -> None:
    bundle = load_bundle(folder / "base.conf", files=False, environ={})
    names = ["hosts.conf", "base.conf", "servers.yml", "big.yaml"]
    assert [Path(file).name for file in bundle.files] == names
    assert set(map(str, bundle.files)) <= bundle.report.sources.keys()
    assert bundle.hosts is not None
    assert [node.host for node in bundle.hosts.nodes] == ["192.0.2.10", "192.0.2.11"]
    assert bundle.inference is not None
    assert bundle.inference.config is not None
    assert bundle.inference.config.infer_model_name == "qwen"


def test_a_file_beside_base_conf_comes_first(folder: Path) -> None:
    (folder / "big.yaml").write_text(TRAIN)
    assert find_config(folder, "train_config_name", "big") == folder / "big.yaml"
    assert find_config(folder, "train_config_name", "none") is None


def test_what_base_conf_names_must_be_there(folder: Path) -> None:
    (folder / "base.conf").write_text(BASE.replace("=big", "=bigg").replace("=servers", "=x"))
    report = load_bundle(folder, files=False, environ={}).report
    found = [(one.line, one.hint) for one in report if one.code == "ARL642"]
    assert found == [(2, "train_config_name=big"), (3, "there is servers")]


def test_in_hybrid_mode_no_inference_yaml_is_read(folder: Path) -> None:
    (folder / "base.conf").write_text(BASE.replace("one_step_off", "hybrid"))
    assert load_bundle(folder, files=False, environ={}).inference is None


def test_a_training_yaml_of_the_flat_format_is_refused(folder: Path) -> None:
    (folder / "train" / "big.yaml").write_text("train_backend: verl\n")
    assert codes(folder) == [("base.conf", "ARL643")]


@pytest.mark.parametrize("missing", ["hosts.conf", "base.conf"])
def test_a_file_that_stands_alone_is_a_note(folder: Path, missing: str) -> None:
    (folder / missing).unlink()
    (other,) = {"hosts.conf", "base.conf"} - {missing}
    assert codes(folder) == [(other, "ARL644")]


def test_a_folder_without_both_is_an_error(tmp_path: Path) -> None:
    report = load_bundle(tmp_path).report
    assert [(one.code, one.file) for one in report] == [("ARL641", str(tmp_path))]


def test_hosts_may_lie_elsewhere(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    other = tmp_path_factory.mktemp("other") / "machines"
    other.write_text("192.0.2.12,0,0\n192.0.2.13,1,1\n")
    bundle = load_bundle(folder, hosts_path=other, base_path=folder / "base.conf", files=False, environ={})
    assert bundle.hosts is not None
    assert bundle.hosts.file == str(other)
    assert bundle.folder == folder


def test_a_file_that_was_named_and_is_not_there_is_an_error(folder: Path) -> None:
    bundle = load_bundle(folder, hosts_path=folder / "none", files=False, environ={})
    assert bundle.hosts is not None
    assert [one.code for one in bundle.hosts.findings] == ["ARL001"]


@pytest.mark.parametrize("name", ["a" * 300, "../../x", "a/b"])
def test_any_name_may_be_written(folder: Path, name: str) -> None:
    (folder / "base.conf").write_text(BASE.replace("=big", f"={name}"))
    assert ("base.conf", "ARL642") in codes(folder)
