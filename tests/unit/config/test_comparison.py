from __future__ import annotations

import json
from pathlib import Path

import pytest

from agentic_rl.config.comparison import Comparison, compare

BASE = """\
tokenizer_name_or_path: /model
agent_name: math
train_backend: verl
verl:
  train_files: /a.parquet
  val_files: /a.parquet
"""


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    return tmp_path / "a.yaml", tmp_path / "b.yaml"


def differences(files: tuple[Path, Path], first: str, second: str) -> Comparison:
    for path, text in zip(files, (first, second), strict=True):
        path.write_text(text)
    return compare(*files)


def test_a_written_default_is_no_difference(files: tuple[Path, Path]) -> None:
    comparison = differences(files, BASE, f"lr: 1.0e-6\n{BASE}")
    assert comparison.differences == ()
    assert comparison.to_text().splitlines()[-1] == "no keys differ"


def test_both_values_are_shown_with_their_lines(files: tuple[Path, Path]) -> None:
    comparison = differences(files, f"{BASE}  grad_clip: 2.0\n", f"lr: 1e-5\n{BASE}  grad_clip: 3.0\n")
    assert comparison.to_text().splitlines() == [
        f"--- {files[0]}",
        f"+++ {files[1]}",
        "lr",
        "  - 1.0e-6 (the default)",
        "  + 1.0e-5 (line 1)",
        "verl.grad_clip",
        "  - 2.0 (line 7)",
        "  + 3.0 (line 8)",
        "2 keys differ",
    ]


def test_another_spelling_is_the_same_key(files: tuple[Path, Path]) -> None:
    comparison = differences(files, f"{BASE}  kl_loss_coef: 0.5\n", f"{BASE}  kl_loss_coeff: 0.25\n")
    (one,) = comparison.differences
    assert (one.key, one.first.value, one.first.line, one.second.value) == ("verl.kl_loss_coeff", 0.5, 7, 0.25)


def test_a_broken_value_is_compared_as_written(files: tuple[Path, Path]) -> None:
    comparison = differences(files, f"{BASE}lr: -1\n", BASE)
    (one,) = comparison.differences
    assert (one.first.value, one.first.source, one.second.source) == (-1, "not valid", "default")
    assert "(`agentic-rl check` finds 1 error)" in comparison.to_text()


def test_a_section_that_one_file_lacks_is_absent_there(files: tuple[Path, Path]) -> None:
    local = "local:\n  train_files: /a.parquet\n  val_files: /a.parquet\n"
    comparison = differences(files, BASE, BASE + local)
    assert {one.key.partition(".")[0] for one in comparison.differences} == {"local"}
    assert {one.first.source for one in comparison.differences} == {"absent"}
    train = next(one for one in comparison.differences if one.key == "local.train_files")
    assert (train.first.to_text(), train.second.to_text()) == ("(absent)", "/a.parquet (line 8)")


def test_values_that_are_equal_in_python_only_differ(files: tuple[Path, Path]) -> None:
    assert [one.key for one in differences(files, f"{BASE}rollout_n: true\n", f"{BASE}rollout_n: 1\n").differences] == [
        "rollout_n"
    ]


def test_the_json_form_has_both_values(files: tuple[Path, Path]) -> None:
    told = json.loads(json.dumps(differences(files, BASE, f"lr: 1e-5\n{BASE}").to_dict()))
    assert told == {
        "equal": False,
        "files": [str(file) for file in files],
        "differences": [
            {
                "key": "lr",
                "first": {"value": 1e-6, "source": "default", "line": None},
                "second": {"value": 1e-5, "source": "file", "line": 1},
            }
        ],
    }


def test_the_environment_is_not_looked_at(files: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTIC_RL__LR", "1e-4")
    assert [one.key for one in differences(files, BASE, f"lr: 1e-5\n{BASE}").differences] == ["lr"]


def test_what_can_not_be_read_can_not_be_compared(files: tuple[Path, Path]) -> None:
    comparison = differences(files, BASE, "- a\n")
    assert [loaded.document.file for loaded in comparison.unread] == [str(files[1])]
