from __future__ import annotations

from pathlib import Path

import pytest

from agentic_rl.view.errors import ViewError
from agentic_rl.view.run import find_run
from agentic_rl.view.tokenizer_file import vocabulary_of
from view_doubles import write_run, write_tokenizer


def texts(folder: Path, given: Path | None = None) -> list[str] | None:
    vocabulary = vocabulary_of(find_run(folder), given)
    return vocabulary and vocabulary.texts([0])


def test_the_newest_checkpoint_has_it(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run")
    write_tokenizer(run / "global_step_10", ["ten"])
    assert texts(run) == ["ten"]


def test_a_checkpoint_of_verl_has_it_with_the_actor(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", tokenizer=False)
    write_tokenizer(run / "global_step_10" / "actor" / "huggingface", ["verl"])
    assert texts(run) == ["verl"]


def test_else_the_model_that_the_run_began_with(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", tokenizer=False)
    assert texts(run) is None
    write_tokenizer(tmp_path / "model", ["model"])
    (run / "config.resolved.yaml").write_text(f"tokenizer_name_or_path: {tmp_path / 'model'}\n")
    assert texts(run) == ["model"]


@pytest.mark.parametrize("content", ["- a", "tokenizer_name_or_path: 3", "{", ""])
def test_a_configuration_that_names_no_model(tmp_path: Path, content: str) -> None:
    run = write_run(tmp_path / "run", tokenizer=False)
    (run / "config.resolved.yaml").write_text(content)
    assert texts(run) is None


def test_one_that_is_given_is_taken_or_refused(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run")
    given = write_tokenizer(tmp_path / "other", ["given"])
    assert texts(run, given) == texts(run, given / "tokenizer.json") == ["given"]
    with pytest.raises(ViewError, match=r"has no readable tokenizer\.json"):
        texts(run, tmp_path)
