from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agentic_rl.config.artifacts import Artifacts, json_prompts, mindspeed_data, read
from agentic_rl.config.flat.megatron_rules import MEGATRON_RULES
from agentic_rl.config.rules import Facts, run
from artifact_doubles import read_artifacts, write_model

DATA, LOAD = "mindspeed_rl.data_path", "mindspeed_rl.load_params_path"
SIZES = {"mindspeed_rl.tensor_model_parallel_size": 2, "mindspeed_rl.pipeline_model_parallel_size": 1}


def of_data(path: Path, text: str | bytes, name: str = "rows.jsonl", keys: tuple[str, ...] = ("problem",)) -> Artifacts:
    (path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_artifacts({DATA: path / name}, train_backend="mindspeed_rl", dataset_additional_keys=list(keys))


def told(result: Artifacts) -> list[str]:
    return [f"{one.severity} {one.code} {one.key}: {one.message}" for one in result.findings]


ROWS = [{"problem": "1+1", "answer": 2}, {"problem": "x", "answer": 3}]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("rows.jsonl", "\n".join(map(json.dumps, ROWS)) + "\n\n"),
        ("rows.json", json.dumps(ROWS)),
        ("rows.json", "\ufeff" + json.dumps(ROWS, indent=2)),
        ("rows.json", "\n".join(map(json.dumps, ROWS))),
    ],
)
def test_rows_that_can_be_read(name: str, text: str, tmp_path: Path) -> None:
    result = of_data(tmp_path, text, name, ("problem", "answer"))
    assert told(result) == []
    assert result.facts["@train.columns"] == ("problem", "answer")
    assert result.facts["@train.rows"] == 2


def test_only_the_beginning_of_a_large_file_is_parsed(tmp_path: Path) -> None:
    row = json.dumps({"problem": "ä" * 100_000})
    assert told(of_data(tmp_path, f"{row}\n" * 20)) == []
    assert told(of_data(tmp_path, "[" + f"{row},\n" * 50, "rows.json")) == []
    assert "@train.rows" not in of_data(tmp_path, "[" + f"{row},\n" * 50, "rows.json").facts


def test_every_row_of_a_list_is_counted(tmp_path: Path) -> None:
    rows = json.dumps(ROWS * 500)
    assert of_data(tmp_path, rows, "rows.json").facts["@train.rows"] == 1000
    assert "is not JSON in row 1001" in told(of_data(tmp_path, f"{rows[:-1]}, oops]", "rows.json"))[0]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is empty"),
        ("[]", "holds no rows"),
        ("problem,answer\n", "is not JSON in row 1 (line 1, column 1)"),
        ('{"problem": 1}\n{"problem": \n', "is not JSON in row 2"),
        ("[1, 2]", "holds a int as row 1; a row must be an object"),
        (b"\xff\xfe", "is not UTF-8 text (byte 0)"),
        ('{"a":' * 100_000, "is nested too deep in row 1"),
        ('{"problem": "' + "x" * (2 << 20) + '"}', "has no whole row in its first 1.0 MB"),
    ],
)
def test_rows_that_cannot_be_read(text: str | bytes, said: str, tmp_path: Path) -> None:
    (found,) = told(of_data(tmp_path, text))
    assert found.startswith(f"error ARL452 {DATA}: ")
    assert said in found


@pytest.mark.parametrize("name", ["rows.parquet", "rows.txt", "rows", "maths_packed_problem_document.bin"])
def test_files_of_another_kind(name: str, tmp_path: Path) -> None:
    (line,) = told(of_data(tmp_path, json.dumps(ROWS), name))
    assert line.startswith(f"error ARL465 {DATA}: {tmp_path / name} ends in neither .json nor .jsonl")


def test_each_key_is_a_column(tmp_path: Path) -> None:
    text = "\n".join(map(json.dumps, ROWS))
    (found,) = told(of_data(tmp_path, text, keys=("problem", "labels")))
    assert found.startswith("error ARL453 dataset_additional_keys: 'labels' is no column of every row looked at")
    assert found.endswith("columns: answer, problem")
    (found,) = told(of_data(tmp_path, text + '\n{"answer": 4}'))
    assert "'problem' is no column of row 3 of" in found


def packed(folder: Path, *names: str, keys: tuple[str, ...] = ("labels",)) -> Artifacts:
    for name in names:
        (folder / name).write_bytes(b"" if name.startswith("empty") else b"x")
    values = {"train_backend": "mindspeed_rl", DATA: str(folder / "rl"), "dataset_additional_keys": list(keys)}
    return read(values, {}, {})


def test_preprocessed_columns(tmp_path: Path) -> None:
    pair = ("rl_packed_labels_document.bin", "rl_packed_labels_document.idx")
    assert told(packed(tmp_path, *pair)) == []
    (found,) = told(packed(tmp_path, *pair, keys=("labels", "question")))
    assert found.startswith("warning ARL453 dataset_additional_keys: question: no whole pair")


def test_a_prefix_without_preprocessed_data(tmp_path: Path) -> None:
    (found,) = told(packed(tmp_path, "rl_packed_labels_document.bin", "rl.txt"))
    assert found.startswith(f"error ARL454 {DATA}: ")


def checkpoint(folder: Path, *ranks: str, tracker: str | None = "release", step: str = "release") -> Path:
    folder.mkdir()
    if tracker is not None:
        (folder / "latest_checkpointed_iteration.txt").write_text(tracker)
    for rank in ranks:
        (folder / step / rank).mkdir(parents=True)
        (folder / step / rank / "model_optim_rng.pt").write_bytes(b"weights")
    return folder


def of_checkpoint(folder: Path, **values: Any) -> Artifacts:
    return read_artifacts({LOAD: folder}, train_backend="mindspeed_rl", **SIZES | values)


TWO = ("mp_rank_00", "mp_rank_01")


@pytest.mark.parametrize(
    ("ranks", "step", "sizes", "values"),
    [
        (TWO, "release", (2, 1), {}),
        (TWO, "iter_0000100", (2, 1), {}),
        (("mp_rank_00_000", "mp_rank_00_001"), "release", (1, 2), {}),
        (("mp_rank_00_000", "mp_rank_00_001"), "release", (1, 1), {"mindspeed_rl.expert_model_parallel_size": 2}),
        (("mp_rank_00_000_000", "mp_rank_00_000_001"), "release", (1, 1), {}),
    ],
)
def test_a_whole_checkpoint(
    ranks: tuple[str, ...], step: str, sizes: tuple[int, int], values: dict[str, Any], tmp_path: Path
) -> None:
    tracker = "release" if step == "release" else "100"
    result = of_checkpoint(checkpoint(tmp_path / "load", *ranks, tracker=tracker, step=step), **values)
    assert told(result) == []
    assert (result.facts["@load.tensor_parallel"], result.facts["@load.pipeline_parallel"]) == sizes


@pytest.mark.parametrize(
    ("tracker", "ranks", "code", "said"),
    [
        (None, TWO, "ARL460", "though it holds release: training would start from random weights"),
        (None, (), "ARL460", "training would start from random weights"),
        ("", TWO, "ARL461", "is empty; it must hold a number of steps, or release"),
        ("latest", TWO, "ARL461", "holds 'latest'"),
        ("12", TWO, "ARL461", "names iter_0000012, which is not there"),
        ("9" * 100, TWO, "ARL461", "has 100 bytes"),
        ("release", ("model",), "ARL462", "has no folders mp_rank_00 and so on"),
        ("release", ("mp_rank_00", "mp_rank_02"), "ARL463", "2 of the 3 folders that their numbers mean"),
    ],
)
def test_a_checkpoint_that_is_not_whole(
    tracker: str | None, ranks: tuple[str, ...], code: str, said: str, tmp_path: Path
) -> None:
    (found,) = told(of_checkpoint(checkpoint(tmp_path / "load", *ranks, tracker=tracker)))
    assert found.startswith(f"error {code} {LOAD}: ")
    assert said in found


def test_ranks_without_weights(tmp_path: Path) -> None:
    folder = checkpoint(tmp_path / "load", *TWO)
    (folder / "release/mp_rank_00/model_optim_rng.pt").write_bytes(b"")
    (folder / "release/mp_rank_01/model_optim_rng.pt").unlink()
    (found,) = told(of_checkpoint(folder))
    assert "the empty file mp_rank_00/model_optim_rng.pt (and 1 more)" in found


def test_a_distributed_checkpoint_has_no_ranks(tmp_path: Path) -> None:
    folder = checkpoint(tmp_path / "load")
    (folder / "release").mkdir()
    (folder / "release/__0_0.distcp").write_bytes(b"x")
    assert told(of_checkpoint(folder)) == []


@pytest.mark.parametrize(
    ("tensor", "pipeline", "written", "key", "said"),
    [
        (2, 1, True, None, ""),
        (8, 1, True, "mindspeed_rl.tensor_model_parallel_size", "2, but /load holds 8 tensor ranks"),
        (2, 4, True, "mindspeed_rl.pipeline_model_parallel_size", "1, but /load holds 4 pipeline stages"),
        (8, 1, False, LOAD, "2 (the default), but /load holds 8 tensor ranks"),
    ],
)
def test_sizes_of_a_checkpoint(tensor: int, pipeline: int, written: bool, key: str | None, said: str) -> None:
    values = {"train_backend": "mindspeed_rl", LOAD: "/load", **SIZES}
    facts = Facts(
        {**values, "@load.tensor_parallel": tensor, "@load.pipeline_parallel": pipeline}, values if written else ()
    )
    problems = [problem for _, problem in run(MEGATRON_RULES, facts)]
    assert [(one.key, one.message) for one in problems] == ([(key, said)] if key else [])


def overlong(path: Path, rows: list[dict[str, Any]], name: str = "rows.jsonl", **values: Any) -> Any:
    text = json.dumps(rows) if name.endswith(".json") else "\n".join(map(json.dumps, rows))
    (path / name).write_text(text)
    paths = {DATA: path / name, "tokenizer_name_or_path": write_model(path / "model")}
    chosen = {
        "train_backend": "mindspeed_rl",
        "dataset_additional_keys": ["problem", "answer"],
        "max_prompt_length": 64,
    }
    return read_artifacts(paths, **{**chosen, **values}).facts.get("@train.overlong")


LONG = {"problem": "é" * 35, "answer": "short"}


@pytest.mark.parametrize("name", ["rows.jsonl", "rows.json"])
def test_long_prompts_of_json_rows_are_counted_with_the_tokenizer(name: str, tmp_path: Path) -> None:
    rows = [*ROWS, LONG, {**LONG, "problem": "x" * 66}]
    found = overlong(tmp_path, rows, name)
    assert (found.over, found.longest, found.rows, found.complete, found.estimated) == (2, 70, 4, True, False)
    assert overlong(tmp_path, rows, name, max_prompt_length=70) is None


@pytest.mark.parametrize("row", [{"problem": "1", "answer": "x" * 100}, {"problem": "1", "note": "x" * 100}])
def test_a_long_answer_or_a_column_that_is_not_read_is_no_long_prompt(row: dict[str, str], tmp_path: Path) -> None:
    assert overlong(tmp_path, [row]) is None


def test_the_messages_of_a_prompt_count_together(tmp_path: Path) -> None:
    messages = [{"role": "system", "content": "s" * 40}, {"role": "user", "content": "u" * 40}, {"role": "user"}, "?"]
    chosen = {"dataset_additional_keys": ["problem", "prompt"]}
    assert overlong(tmp_path, [{"prompt": messages, "problem": "x"}], **chosen).longest == 80
    assert overlong(tmp_path, [{"prompt": messages[1:], "problem": "x" * 100}], **chosen) is None


def test_a_damaged_row_among_long_ones_does_not_stop_the_counting(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text('{"problem": "1"}\n' * 100 + "[" * 100_000 + "\n" + json.dumps(LONG))
    paths = {DATA: tmp_path / "rows.jsonl", "tokenizer_name_or_path": write_model(tmp_path / "model")}
    chosen = {"train_backend": "mindspeed_rl", "dataset_additional_keys": ["problem"], "max_prompt_length": 64}
    assert read_artifacts(paths, **chosen).facts["@train.overlong"].over == 1


def test_of_a_large_file_blocks_are_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_prompts, "WHOLE", 1000)
    monkeypatch.setattr(json_prompts, "BLOCK", 1000)
    monkeypatch.setattr(mindspeed_data, "COUNTED", 1000)
    found = overlong(tmp_path, [LONG] * 10_000)
    assert found.rows is None
    assert not found.complete
    assert found.over == found.seen
    assert 100 < found.seen < 500


def test_only_so_much_of_long_rows_is_parsed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_prompts, "MOST_PARSED", 2000)
    found = overlong(tmp_path, [LONG] * 100)
    assert (found.complete, found.rows) == (False, 100)
    assert 0 < found.over == found.seen < 20


def test_a_row_that_is_too_long_to_parse_leaves_the_count_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_prompts, "LONGEST_PARSED", 1000)
    found = overlong(tmp_path, [{"problem": "x" * 2000}, LONG, *ROWS])
    assert (found.over, found.seen, found.rows, found.complete) == (1, 4, 4, False)
