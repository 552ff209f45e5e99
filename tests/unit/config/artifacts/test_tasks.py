from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from agentic_rl.config.artifacts import Artifacts
from agentic_rl.config.diagnostics import Finding
from artifact_doubles import Row, read_artifacts, task_rows, write_model, write_rows

KEY = "verl.train_files"


def look(path: Path, rows: list[Row], key: str = KEY, **values: Any) -> Artifacts:
    backend = key.partition(".")[0]
    return read_artifacts({key: write_rows(path / "data.parquet", rows)}, train_backend=backend, **values)


def only(result: Artifacts) -> Finding:
    (one,) = result.findings
    return one


def without(rows: list[Row], column: str) -> list[Row]:
    return [{name: value for name, value in row.items() if name != column} for row in rows]


@pytest.mark.parametrize("key", ["verl.train_files", "verl.val_files", "local.train_files", "local.val_files"])
def test_a_good_file_has_facts_and_no_finding(key: str, tmp_path: Path) -> None:
    result = look(tmp_path, task_rows(5), key)
    assert result.findings == []
    name = "train" if "train" in key else "val"
    assert result.facts[f"@{name}.rows"] == 5
    assert result.facts[f"@{name}.columns"] == ("data_source", "prompt", "reward_model", "extra_info")


def test_raw_data_is_told_what_is_missing_and_what_is_there(tmp_path: Path) -> None:
    found = only(look(tmp_path, [{"question": "?", "answer": "!"}]))
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
def test_a_column_of_another_type_is_named_with_both_types(column: str, value: Any, kind: str, tmp_path: Path) -> None:
    found = only(look(tmp_path, task_rows(2, **{column: value})))
    assert (found.code, found.severity) == ("ARL422", "error")
    assert f"the column {column} is {kind}; it has to be" in found.message


@pytest.mark.parametrize(
    "prompt",
    [
        pa.array(
            [[{"role": "user", "content": "?"}]],
            pa.large_list(pa.struct([("role", pa.large_string()), ("content", pa.large_string())])),
        ),
        pa.array(
            [[{"role": "user", "content": "?"}]],
            pa.list_(pa.struct([("role", pa.string()), ("content", pa.string())]), 1),
        ),
        pa.array([[{"role": "user", "content": "?", "name": "x"}]]),
    ],
)
def test_types_that_hold_the_same_are_fine(prompt: pa.Array, tmp_path: Path) -> None:
    source = pa.array(["a"]).dictionary_encode()
    table = pa.table({"prompt": prompt, "reward_model": [{"ground_truth": 1}], "data_source": source})
    path = tmp_path / "data.parquet"
    pq.write_table(table, path)
    assert read_artifacts({KEY: path}).findings == []


def test_a_file_without_sources_is_a_warning(tmp_path: Path) -> None:
    found = only(look(tmp_path, without(task_rows(5), "data_source")))
    assert (found.code, found.severity) == ("ARL424", "warning")
    found = only(look(tmp_path, [*task_rows(3, data_source=""), *task_rows(2)]))
    assert (found.code, found.severity) == ("ARL424", "warning")
    assert "data_source is empty in 3 of 5 rows" in found.message
    assert only(look(tmp_path, task_rows(2, data_source=None))).code == "ARL424"


def test_columns_that_are_optional_or_empty_are_fine(tmp_path: Path) -> None:
    assert look(tmp_path, without(task_rows(2), "extra_info")).findings == []
    assert look(tmp_path, task_rows(2, extra_info=None)).findings == []


def test_rows_without_a_message_are_counted(tmp_path: Path) -> None:
    rows = task_rows(5)
    rows[1]["prompt"], rows[3]["prompt"] = [], None
    found = only(look(tmp_path, rows))
    assert (found.code, found.severity) == ("ARL425", "error")
    assert "prompt has no message in 2 of 5 rows, the first in row 1" in found.message


def test_no_rows(tmp_path: Path) -> None:
    path = tmp_path / "data.parquet"
    pq.write_table(pa.Table.from_pylist(task_rows(2)).slice(0, 0), path)
    assert only(read_artifacts({KEY: path})).code == "ARL423"


def test_conversations_need_messages(tmp_path: Path) -> None:
    good = [{"messages": [{"role": "user", "content": "?"}, {"role": "assistant", "content": "!"}]}]
    assert look(tmp_path, good, "local.sft_files").findings == []
    assert only(look(tmp_path, task_rows(2), "local.sft_files")).code == "ARL421"
    assert only(look(tmp_path, [{"messages": "text"}], "local.sft_files")).code == "ARL422"
    assert only(look(tmp_path, [{"messages": []}, *good], "local.sft_files")).code == "ARL425"


def overlong(tmp_path: Path, rows: list[Row], **values: Any) -> Any:
    model = write_model(tmp_path / "model")
    paths = {KEY: write_rows(tmp_path / "data.parquet", rows), "tokenizer_name_or_path": model}
    return read_artifacts(paths, **{"max_prompt_length": 64, **values}).facts.get("@train.overlong")


def test_long_prompts_are_counted_with_the_tokenizer(tmp_path: Path) -> None:
    long = [{"role": "system", "content": "s" * 50}, {"role": "user", "content": "é" * 10}]
    rows = [*task_rows(7), *task_rows(3, prompt=long)]
    found = overlong(tmp_path, rows)
    assert (found.over, found.longest, found.rows, found.complete, found.estimated) == (3, 70, 10, True, False)
    assert overlong(tmp_path, rows, max_prompt_length=70) is None


def test_text_that_is_no_utf_8_is_counted_as_it_is(tmp_path: Path) -> None:
    rows = task_rows(2, prompt=[{"role": "user", "content": "x" * 100}])
    path = write_rows(tmp_path / "data.parquet", rows, compression="none")
    path.write_bytes(path.read_bytes().replace(b"x" * 100, b"\xff" * 100))
    paths = {KEY: path, "tokenizer_name_or_path": write_model(tmp_path / "model")}
    assert read_artifacts(paths, max_prompt_length=64).facts["@train.overlong"].over == 2


def test_a_large_tokenizer_is_loaded_only_for_suspiciously_long_prompts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from agentic_rl.config.artifacts import prompt_tokens

    monkeypatch.setattr(prompt_tokens, "SMALL_TOKENIZER", 10)
    text = [{"role": "user", "content": "x" * 100}]
    assert overlong(tmp_path, task_rows(2, prompt=text)) is None
    assert overlong(tmp_path, task_rows(2, prompt=[*text, *text])).longest == 200


def test_without_a_tokenizer_characters_must_do(tmp_path: Path) -> None:
    text = [{"role": "user", "content": "x" * 1000}]
    paths = {KEY: write_rows(tmp_path / "data.parquet", [*task_rows(5), *task_rows(1, prompt=text)])}
    found = read_artifacts(paths, max_prompt_length=64).facts["@train.overlong"]
    assert (found.over, found.estimated, found.complete) == (1, True, False)


def test_counting_stops_in_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from agentic_rl.config.artifacts import prompt_tokens

    monkeypatch.setattr(prompt_tokens, "SECONDS", -1.0)
    assert overlong(tmp_path, task_rows(2, prompt=[{"role": "user", "content": "x" * 500}])) is None


def test_large_files_are_sampled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from agentic_rl.config.artifacts import parquet_file
    from agentic_rl.config.artifacts import task_rows as looking

    monkeypatch.setattr(looking, "MOST_ROWS", 40)
    monkeypatch.setattr(parquet_file, "ROWS_OF_A_GROUP", 10)
    rows = task_rows(200, prompt=[{"role": "user", "content": "x" * 100}])
    paths = {KEY: write_rows(tmp_path / "data.parquet", rows, row_group_size=10)}
    paths["tokenizer_name_or_path"] = write_model(tmp_path / "model")
    found = read_artifacts(paths, max_prompt_length=64).facts["@train.overlong"]
    assert (found.over, found.seen, found.rows, found.complete) == (40, 40, 200, False)


def test_unknown_roles_are_named(tmp_path: Path) -> None:
    roles = ("system", "usr", "tool", "assistant")
    found = only(look(tmp_path, task_rows(3, prompt=[{"role": role, "content": "?"} for role in roles])))
    assert (found.severity, found.code) == ("warning", "ARL467")
    assert "prompt has messages of the role 'usr', which" in found.message


@pytest.mark.parametrize("kind", [None, pa.string(), pa.int64()])
def test_no_answer_in_any_row(kind: pa.DataType | None, tmp_path: Path) -> None:
    look(tmp_path, task_rows(3, reward_model={"style": "rule", "ground_truth": None}))
    file = next(tmp_path.iterdir())
    if kind is not None:
        answers = pa.StructArray.from_arrays([pa.nulls(3, kind)], ["ground_truth"])
        table = pq.read_table(file)
        pq.write_table(table.set_column(table.schema.get_field_index("reward_model"), "reward_model", answers), file)
    found = only(read_artifacts({KEY: file}))
    assert (found.severity, found.code) == ("warning", "ARL468")
    assert found.message.endswith("reward_model.ground_truth is null in every row")


def test_an_answer_in_one_row_is_enough(tmp_path: Path) -> None:
    rows = task_rows(2, reward_model={"ground_truth": None}) + task_rows(1, reward_model={"ground_truth": "1"})
    assert look(tmp_path, rows).findings == []
