from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from agentic_rl.cli.app import app
from agentic_rl.data import check_files
from agentic_rl.data.checking import MOST_TOLD
from rollout_doubles import make_tokenizer

Rows = list[dict[str, Any]]


def task(text: Any = "q", **changes: Any) -> dict[str, Any]:
    row = {
        "data_source": "s",
        "prompt": [{"role": "user", "content": text}],
        "reward_model": {"ground_truth": "1"},
        "extra_info": {"index": 0},
    }
    return {**row, **changes}


def write(path: Path, rows: Rows) -> Path:
    if path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    else:
        path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return path


def found(path: Path) -> list[tuple[str, str]]:
    return [(one.code, one.key) for one in check_files([path]).report]


def message(**fields: Any) -> dict[str, Any]:
    return {"role": "user", "content": "x", **fields}


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (task(), None),
        (task(prompt=[]), ("ARL425", "[1].prompt")),
        (task(prompt=None), ("ARL425", "[1].prompt")),
        (task(" "), ("ARL425", "[1].prompt")),
        (task(prompt="text"), ("ARL422", "[1].prompt")),
        (task(prompt=["text"]), ("ARL422", "[1].prompt")),
        (task(prompt=[message(), message(content=3)]), ("ARL422", "[1].prompt[1].content")),
        (task(prompt=[message(role=None)]), ("ARL422", "[1].prompt[0].role")),
        (task(prompt=[message(role="human"), message()]), ("ARL467", "[1].prompt[0].role")),
        (task(prompt=[message(), message(role="system")]), ("ARL475", "[1].prompt")),
        (task(prompt=[message(role="system")]), ("ARL475", "[1].prompt")),
        (task(prompt=[message(), message(role="assistant")]), ("ARL475", "[1].prompt")),
        (task(prompt=[message(role="system"), message(content="y")]), None),
        (task("r", reward_model=None), ("ARL422", "[1].reward_model")),
        (task("r", reward_model={"ground_truth": None}), ("ARL478", "[1].reward_model.ground_truth")),
        (task("r", reward_model={"ground_truth": 3}), ("ARL477", "")),
        (task("r", data_source=None), ("ARL424", "[1].data_source")),
        (task("r", data_source=3), ("ARL422", "[1].data_source")),
        (task("r", extra_info=[1]), ("ARL422", "[1].extra_info")),
        (task("first"), ("ARL473", "[1].prompt")),
        (task(" first\n"), ("ARL473", "[1].prompt")),
    ],
)
def test_what_is_wrong_with_a_row(tmp_path: Path, row: dict[str, Any], expected: tuple[str, str] | None) -> None:
    codes = found(write(tmp_path / "rows.jsonl", [task("first"), row]))
    assert (expected in codes) if expected else codes == []


def test_a_file_without_rows_columns_or_answers(tmp_path: Path) -> None:
    assert found(write(tmp_path / "a.jsonl", [])) == [("ARL423", "")]
    assert found(write(tmp_path / "b.jsonl", [{"question": "q"}])) == [("ARL421", "")]
    assert found(write(tmp_path / "b.parquet", [{"question": "q"}])) == [("ARL421", "")]
    assert found(write(tmp_path / "c.parquet", [task(prompt="text")])) == [("ARL422", "")]
    assert found(write(tmp_path / "d.jsonl", [task(reward_model={"ground_truth": ""})] * 1)) == [("ARL468", "")]
    assert found(tmp_path / "gone.parquet") == [("ARL420", "")]
    assert found(write(tmp_path / "e.parquet", [task(), task("other")])) == []


def test_conversations_of_a_warm_up(tmp_path: Path) -> None:
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    talk = [message(), {"role": "assistant", "content": None, "tool_calls": [call]}, message(role="tool")]
    checked = check_files([write(tmp_path / "sft.parquet", [{"messages": talk}, {"messages": talk}])])
    assert list(checked.report) == []
    assert checked.overviews[0].roles == {"user": 2, "assistant": 2, "tool": 2}
    assert "characters of a conversation" in checked.to_text()


def test_many_findings_are_told_in_one(tmp_path: Path) -> None:
    checked = check_files([write(tmp_path / "rows.jsonl", [task("same") for _ in range(MOST_TOLD + 10)])])
    assert len(checked.report) == MOST_TOLD + 1
    said = f"9 more rows have this finding, the last is [{MOST_TOLD + 9}]"
    assert [one.message for one in checked.report].count(said) == 1
    assert checked.overviews[0].repeated == MOST_TOLD + 9


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tokenizer")
    make_tokenizer().save_pretrained(folder)
    return folder


def run(*arguments: object) -> Any:
    return CliRunner().invoke(app, ["data", "check", *map(str, arguments)])


def test_tokens_are_those_of_the_chat_template(tmp_path: Path, tokenizer: Path) -> None:
    file = write(tmp_path / "rows.jsonl", [task("x" * 50), task("y")])
    done = run(file, "--tokenizer", tokenizer, "--format", "json", "--max-prompt-length", 40)
    told = json.loads(done.output)
    ids = make_tokenizer().apply_chat_template(
        [{"role": "user", "content": "y"}], add_generation_prompt=True, return_dict=False
    )
    assert done.exit_code == 1
    assert told["files"][0]["lengths"]["unit"] == "tokens"
    assert told["files"][0]["lengths"]["shortest"] == len(ids)
    assert [(one["code"], one["key"]) for one in told["findings"]] == [("ARL476", "[0].prompt")]


def test_the_command(tmp_path: Path, tokenizer: Path) -> None:
    file = write(tmp_path / "rows.parquet", [task("a"), task("b", data_source="t")])
    done = run(file)
    assert done.exit_code == 0
    assert done.output.splitlines() == [
        "no findings",
        f"{file}: 2 rows",
        "  sources: s 1, t 1",
        "  roles: user 2",
        "  ground truths: text 2",
        "  characters of a prompt: 1 to 1, median 1, 95 % up to 1",
    ]
    assert run(tmp_path / "gone.parquet").exit_code == 1
    assert run(file, "--max-prompt-length", 3).exit_code == 2
    nowhere = run(file, "--tokenizer", tmp_path)
    assert (nowhere.exit_code, "has no tokenizer that can be loaded" in nowhere.output) == (1, True)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(
    st.lists(
        st.fixed_dictionaries(
            {"prompt": JSON | st.lists(st.fixed_dictionaries({"role": JSON, "content": JSON}), max_size=2)},
            optional={"reward_model": JSON, "data_source": JSON, "extra_info": JSON},
        ),
        max_size=4,
    )
)
def test_no_row_breaks_the_check(tmp_path_factory: pytest.TempPathFactory, rows: Rows) -> None:
    path = tmp_path_factory.getbasetemp() / "any.jsonl"
    checked = check_files([write(path, rows)])
    json.dumps(checked.to_dict())
    assert checked.to_text()
