"""Composition with Hydra; where it is not installed, what needs it is skipped."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from agentic_rl.config.aura.composition import Composed, compose, finding_templates
from agentic_rl.config.aura.composition.composed import Origin
from agentic_rl.config.diagnostics import Place
from agentic_rl.config.source import parse, read

needs_hydra = pytest.mark.skipif(find_spec("hydra") is None, reason="hydra-core is not installed")
pytestmark = pytest.mark.verl  # hydra-core comes with verl: the session of verl runs these too

TEXT = """\
agentic_ai: {mode: serve}
hydra:
  searchpath: [file://templates]
defaults:
  - trainer
  - trainer@verl_conf
  - _self_
verl_conf:
  data:
    train_batch_size: 16
    files: [a, b]
"""
TRAINER = """\
data:
  train_batch_size: 1024
  val_batch_size: ${data.train_batch_size}
  files: [x]
  seed: 7
trainer:
  total: ${oc.select:data.absent,5}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(finding_templates, "config_dir", lambda: None)
    (tmp_path / "templates").mkdir()
    (tmp_path / "templates/trainer.yaml").write_text(TRAINER)
    return tmp_path


def composed(folder: Path, text: str, *overrides: str, **environ: str) -> Composed:
    path = folder / "run.yaml"
    path.write_text(text)
    return compose(read(path), overrides, environ)


def told(result: Composed) -> list[tuple[str, str, str, int | None]]:
    return [(one.severity, one.code, one.key, one.line) for one in result.findings]


@needs_hydra
def test_templates_lie_below_the_file(folder: Path) -> None:
    result = composed(folder, TEXT)
    assert told(result) == []
    assert result.tree == {
        "agentic_ai": {"mode": "serve"},
        "verl_conf": {
            "data": {"train_batch_size": 16, "val_batch_size": 16, "files": ["a", "b"], "seed": 7},
            "trainer": {"total": 5},
        },
    }


@needs_hydra
def test_every_value_has_an_origin_and_a_place(folder: Path) -> None:
    result = composed(folder, TEXT, "verl_conf.trainer.total=9", AGENTIC_RL__VERL_CONF__DATA__SEED="1")
    file = str(folder / "run.yaml")
    expected: dict[str, tuple[Origin, Place | None]] = {
        "verl_conf.data.train_batch_size": (Origin("file"), Place(file, 10, 5)),
        "verl_conf.data.files[1]": (Origin("file"), Place(file, 11, 16)),
        "verl_conf.data.val_batch_size": (Origin("template", "trainer", "defaults[1]"), Place(file, 6, 5)),
        "verl_conf.trainer.total": (Origin("command line", "verl_conf.trainer.total=9"), Place("command line")),
        "verl_conf.data.seed": (Origin("environment", "AGENTIC_RL__VERL_CONF__DATA__SEED"), Place("environment")),
    }
    assert {key: (result.origins[key], result.place_of(key)) for key in expected} == expected
    assert {"verl_conf", "verl_conf.data.train_batch_size", "verl_conf.trainer.total"} <= result.written
    assert not any(key.startswith(("defaults", "hydra")) for key in result.written)
    assert "verl_conf.data.val_batch_size" not in result.written


def test_a_value_through_a_reference_has_the_place_of_the_reference(folder: Path) -> None:
    text = "verl_conf:\n  data: {size: 4}\ntrain_instances:\n  - executor_kwargs:\n      train_config: ${verl_conf}\n"
    result = composed(folder, text)
    key = "train_instances[0].executor_kwargs.train_config"
    assert result.tree["train_instances"][0]["executor_kwargs"]["train_config"] == {"data": {"size": 4}}
    assert result.place_of(f"{key}.data.size") == Place(str(folder / "run.yaml"), 5, 7)
    assert f"{key}.data.size" not in result.written


@needs_hydra
def test_what_templates_have_at_the_top_is_only_referred_to(folder: Path) -> None:
    result = composed(folder, TEXT + "extra: ${data.seed}\n")
    assert result.tree["extra"] == 7
    assert "data" not in result.tree


@needs_hydra
def test_templates_below_self_win_and_it_is_told(folder: Path) -> None:
    text = TEXT.replace("  - _self_\n", "").replace("  - trainer\n", "  - trainer\n  - _self_\n")
    result = composed(folder, text)
    assert told(result) == [("warning", "ARL038", "verl_conf.data.train_batch_size", 10)]
    assert "in all for 2 values" in result.findings[0].message
    assert result.tree["verl_conf"]["data"]["train_batch_size"] == 1024
    assert result.origins["verl_conf.data.train_batch_size"].kind == "template"
    assert "verl_conf.data.train_batch_size" not in result.written


def test_a_template_that_is_nowhere_leaves_the_file_alone(folder: Path) -> None:
    result = composed(folder, TEXT.replace("trainer", "trainr"))
    ((severity, code, key, line),) = told(result)
    assert (severity, code, key, line) == ("warning", "ARL034", "defaults[0]", 5)
    assert result.findings[0].hint == "- trainer"
    assert result.tree["verl_conf"] == {"data": {"train_batch_size": 16, "files": ["a", "b"]}}


def test_a_template_that_its_folder_lacks_is_an_error_with_those_there(folder: Path) -> None:
    (folder / "msrl_conf").mkdir()
    (folder / "msrl_conf/base_8b.yaml").write_text("rl_config: {n: 8}\n")
    result = composed(folder, "defaults:\n  - msrl_conf: base_8\n  - verl_conf: null\n  - _self_\nmsrl_conf: {}\n")
    assert told(result) == [("error", "ARL035", "defaults[0]", 2)]
    finding = result.findings[0]
    assert "it has base_8b" in finding.message
    assert finding.hint == "- msrl_conf: base_8b"


@needs_hydra
def test_group_templates_beside_the_file(folder: Path) -> None:
    (folder / "msrl_conf").mkdir()
    (folder / "msrl_conf/base.yaml").write_text("rl_config: {n: 8, k: 1}\n")
    text = "defaults:\n  - msrl_conf: base\n  - verl_conf: null\n  - _self_\nmsrl_conf: {rl_config: {k: 2}}\n"
    result = composed(folder, text)
    assert told(result) == []
    assert result.tree == {"msrl_conf": {"rl_config": {"n": 8, "k": 2}}}
    assert result.origins["msrl_conf.rl_config.n"] == Origin("template", "msrl_conf/base", "defaults[0]")


@needs_hydra
def test_the_installed_verl_has_its_templates(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(finding_templates, "config_dir", lambda: folder / "templates")
    result = composed(folder, TEXT.replace("file://templates", "file:///gone/config"))
    assert told(result) == [("note", "ARL036", "hydra.searchpath", 3)]
    assert "file:///gone/config is not there; trainer is taken from the installed verl" in result.findings[0].message
    assert result.tree["verl_conf"]["data"]["seed"] == 7


@needs_hydra
def test_a_template_that_chooses_parts_by_a_name_at_the_top(folder: Path) -> None:
    """As verl's own does, which Hydra refuses in a section."""
    for engine in ("dp", "megatron"):
        (folder / f"templates/engine/{engine}").mkdir(parents=True)
        (folder / f"templates/engine/{engine}.yaml").write_text(f"name: {engine}\n")
        (folder / f"templates/{engine}_actor.yaml").write_text(f"of: {engine}\n")
    chooses = "defaults:\n  - engine: dp\n  - ${engine}_actor\n  - _self_\ndata: {seed: 1}\n"
    (folder / "templates/trainer.yaml").write_text(chooses)
    result = composed(folder, TEXT)
    assert told(result) == []
    assert result.tree["verl_conf"]["of"] == "dp"
    assert result.tree["verl_conf"]["engine"] == {"name": "dp"}


@needs_hydra
def test_what_hydra_refuses_is_told_in_its_words(folder: Path) -> None:
    (folder / "templates/trainer.yaml").write_text("defaults: [nowhere]\n")
    result = composed(folder, TEXT)
    assert told(result) == [("error", "ARL037", "defaults", 4)]
    assert "nowhere" in result.findings[0].message
    assert result.tree["verl_conf"]["data"]["train_batch_size"] == 16


@needs_hydra
def test_a_broken_reference_of_a_template_is_one_warning(folder: Path) -> None:
    (folder / "templates/trainer.yaml").write_text("data: {a: '${gone.x}', b: '${gone.y}', seed: 1}\n")
    result = composed(folder, TEXT.replace("  - trainer\n", ""))
    assert told(result) == [("warning", "ARL033", "verl_conf.data.a", 5)]
    assert "and 1 more of its references (from the template trainer)" in result.findings[0].message


def test_a_broken_reference_of_the_file_names_its_key(folder: Path) -> None:
    result = composed(folder, "agentic_ai:\n  mode: serve\n  log_dir: ${absent.dir}\n")
    assert told(result) == [("error", "ARL033", "agentic_ai.log_dir", 3)]
    assert result.flawed == {"agentic_ai.log_dir"}
    assert result.tree == {"agentic_ai": {"mode": "serve"}}


@pytest.mark.parametrize("defaults", ["ppo_trainer", "[1]", "[{a: b, c: d}]", "[[a]]", "{a: b}", "['']", "[~]", "[{}]"])
def test_items_of_other_forms(folder: Path, defaults: str) -> None:
    result = composed(folder, f"agentic_ai: {{mode: serve}}\ndefaults: {defaults}\n")
    found = [(code, key) for _, code, key, _ in told(result)]
    assert found == ([("ARL037", "defaults")] if defaults != "[{}]" else [])


def test_hydra_is_not_imported_without_templates(folder: Path) -> None:
    import subprocess
    import sys

    code = (
        "import sys; from agentic_rl.config.aura.composition import compose; "
        "from agentic_rl.config.source import parse; "
        "compose(parse('agentic_ai: {mode: serve}\\ndefaults: [_self_, verl_conf: null]\\n', '')); "
        "sys.exit('hydra' in sys.modules or 'omegaconf' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@needs_hydra
def test_hydras_own_state_is_left_as_it_was(folder: Path) -> None:
    import hydra
    from hydra.core.config_store import ConfigStore
    from hydra.core.global_hydra import GlobalHydra

    before = dict(ConfigStore.instance().repo)
    with hydra.initialize_config_dir(str(folder / "templates"), version_base=None):
        composed(folder, TEXT)
        assert GlobalHydra.instance().is_initialized()
        assert hydra.compose("trainer").data.seed == 7
    assert dict(ConfigStore.instance().repo) == before


def test_values_of_any_kind_pass(folder: Path) -> None:
    tree: dict[str, Any] = {"agentic_ai": {"a": None, "b": [], "c": {}, "d": 1.5, "e": True, "f": [[{}], "x"]}}
    assert compose(parse("agentic_ai: {a: , b: [], c: {}, d: 1.5, e: yes, f: [[{}], x]}", "")).tree == tree


@needs_hydra
def test_of_several_templates_of_a_section_the_one_that_has_the_key_is_named(folder: Path) -> None:
    (folder / "verl_conf").mkdir()
    (folder / "verl_conf/a.yaml").write_text("data: {seed: 1, size: 2}\n")
    (folder / "verl_conf/b.yaml").write_text("data: {seed: 3}\nrollout: {n: 2}\n")
    result = composed(folder, "defaults:\n  - verl_conf/b@verl_conf\n  - verl_conf/a\n  - _self_\nserve_conf: {}\n")
    assert told(result) == []
    names = {key: origin.name for key, origin in result.origins.items() if origin.kind == "template"}
    assert names == {"verl_conf.data.seed": "a", "verl_conf.data.size": "a", "verl_conf.rollout.n": "b"}


@needs_hydra
@pytest.mark.parametrize(
    ("template", "message"),
    [("data: {a: [\n", 'verl_conf/own.yaml", line 2'), ("defaults: [own]\n", "name each other without end")],
)
def test_a_template_that_can_not_be_read_is_told_alone(folder: Path, template: str, message: str) -> None:
    """Not the references to what it would have brought."""
    (folder / "verl_conf").mkdir()
    (folder / "verl_conf/own.yaml").write_text(template)
    result = composed(folder, "defaults:\n  - verl_conf: own\n  - _self_\nserve_conf: {port: '${verl_conf.port}'}\n")
    assert told(result) == [("error", "ARL037", "defaults", 1)]
    assert message in result.findings[0].message


@needs_hydra
def test_a_search_path_that_is_no_list(folder: Path) -> None:
    result = composed(folder, TEXT.replace("[file://templates]", "3"))
    assert ("error", "ARL037", "hydra.searchpath", 3) in told(result)
