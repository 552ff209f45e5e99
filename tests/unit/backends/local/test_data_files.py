from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from agentic_rl.backends.errors import DataError
from agentic_rl.backends.local.data_files import DataFile, check_conversations, check_tasks
from agentic_rl.config.diagnostics import Finding

KEY = "local.train_files"
Write = Any


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def make(rows: list[dict[str, Any]]) -> DataFile:
        path = tmp_path / "data.parquet"
        pq.write_table(pa.Table.from_pylist(rows), path)
        return DataFile(KEY, str(path), lambda: path.open("rb"))

    return make


def without(rows: list[dict[str, Any]], column: str) -> list[dict[str, Any]]:
    return [{name: value for name, value in row.items() if name != column} for row in rows]


def changed(rows: list[dict[str, Any]], column: str, value: Any) -> list[dict[str, Any]]:
    return [{**row, column: value} for row in rows]


def only(found: list[Finding]) -> Finding:
    (one,) = found
    return one


def test_a_good_file_has_no_finding(write: Write, rows: list[dict[str, Any]]) -> None:
    assert check_tasks(write(rows), at_least=5) == []


def test_raw_data_is_told_what_is_missing_and_what_is_there(write: Write) -> None:
    found = only(check_tasks(write([{"question": "?", "answer": "!"}]), at_least=1))
    assert (found.code, found.severity, found.key) == ("ARL421", "error", KEY)
    assert "lacks the columns prompt, reward_model; it has: question, answer" in found.message
    assert "prompt: a list of messages" in found.hint


@pytest.mark.parametrize(
    ("column", "value", "kind"),
    [
        ("prompt", "plain text", "string"),
        ("prompt", [{"role": "user"}], "list<element: struct<role: string>>"),
        ("prompt", ["text"], "list<element: string>"),
        ("reward_model", "text", "string"),
        ("reward_model", {"style": "rule"}, "struct<style: string>"),
        ("data_source", 1, "int64"),
        ("extra_info", "text", "string"),
    ],
)
def test_a_column_of_another_type_is_named_with_both_types(
    column: str, value: Any, kind: str, write: Write, rows: list[dict[str, Any]]
) -> None:
    found = only(check_tasks(write(changed(rows, column, value)), at_least=1))
    assert (found.code, found.severity) == ("ARL422", "error")
    assert f"the column {column} is {kind}; it has to be" in found.message


def test_fewer_rows_than_a_batch(write: Write, rows: list[dict[str, Any]]) -> None:
    found = only(check_tasks(write(rows), at_least=6))
    assert (found.code, found.severity) == ("ARL423", "error")
    assert "has 5 rows, fewer than one batch of 6" in found.message


def test_a_file_without_sources_is_a_warning(write: Write, rows: list[dict[str, Any]]) -> None:
    found = only(check_tasks(write(without(rows, "data_source")), at_least=1))
    assert (found.code, found.severity) == ("ARL424", "warning")


def test_columns_that_are_optional_or_empty_are_fine(write: Write, rows: list[dict[str, Any]]) -> None:
    assert check_tasks(write(without(rows, "extra_info")), at_least=1) == []
    assert check_tasks(write(changed(rows, "extra_info", None)), at_least=1) == []


def test_rows_without_a_message_are_counted(write: Write, rows: list[dict[str, Any]]) -> None:
    rows[1] = {**rows[1], "prompt": []}
    rows[3] = {**rows[3], "prompt": None}
    found = only(check_tasks(write(rows), at_least=1))
    assert (found.code, found.severity) == ("ARL425", "error")
    assert "prompt of row 1 and 1 more rows has no message" in found.message


def test_a_file_that_is_not_parquet(tmp_path: Path) -> None:
    path = tmp_path / "data.parquet"
    path.write_text("prompt,answer")
    found = only(check_tasks(DataFile(KEY, str(path), lambda: path.open("rb")), at_least=1))
    assert (found.code, found.severity) == ("ARL420", "error")


def test_a_file_that_vanishes_is_a_finding_and_in_training_an_error(tmp_path: Path) -> None:
    gone = DataFile(KEY, str(tmp_path / "gone"), lambda: (tmp_path / "gone").open("rb"))
    assert only(check_tasks(gone, at_least=1)).code == "ARL420"
    with pytest.raises(DataError, match=r"local\.train_files: .*gone can't be read as parquet"):
        gone.table(("prompt",))


def test_only_the_wanted_columns_are_read(write: Write, rows: list[dict[str, Any]]) -> None:
    file = write(changed(rows, "huge", "x" * 100))
    assert file.table(("prompt", "not there")).column_names == ["prompt"]
    assert file.rows() == 5
    assert "huge" in file.column_names()


def test_conversations_need_messages(write: Write, rows: list[dict[str, Any]]) -> None:
    good = [{"messages": [{"role": "user", "content": "?"}, {"role": "assistant", "content": "!"}]}]
    assert check_conversations(write(good)) == []
    assert only(check_conversations(write(rows))).code == "ARL421"
    assert only(check_conversations(write([{"messages": "text"}]))).code == "ARL422"
    assert only(check_conversations(write([{"messages": []}, *good]))).code == "ARL425"


def test_a_configuration_that_was_loaded_without_its_files_cannot_train(loaded: Any) -> None:
    configuration = loaded()
    assert DataFile.of(configuration, KEY).rows() == 5
    configuration.checked.clear()
    with pytest.raises(LookupError, match="was not checked"):
        DataFile.of(configuration, KEY)
