from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agentic_rl.backends.errors import DataError
from agentic_rl.backends.local.data_files import DataFile
from artifact_doubles import task_rows, write_rows

KEY = "local.train_files"


def test_a_file_that_vanishes_is_an_error_of_training(tmp_path: Path) -> None:
    gone = DataFile(KEY, str(tmp_path / "gone"), lambda: (tmp_path / "gone").open("rb"))
    with pytest.raises(DataError, match=r"local\.train_files: .*gone can't be read as parquet"):
        gone.table(("prompt",))


def test_only_the_wanted_columns_are_read(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "data.parquet", task_rows(5, huge="x" * 100))
    file = DataFile(KEY, str(path), lambda: path.open("rb"))
    assert file.table(("prompt", "not there")).column_names == ["prompt"]
    assert file.rows() == 5


def test_a_configuration_that_was_loaded_without_its_files_cannot_train(loaded: Any) -> None:
    configuration = loaded()
    assert DataFile.of(configuration, KEY).rows() == 5
    configuration.checked.clear()
    with pytest.raises(LookupError, match="was not checked"):
        DataFile.of(configuration, KEY)
