from __future__ import annotations

import json
from pathlib import Path
from stat import S_IMODE
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from agentic_rl.cli.app import app
from agentic_rl.data import Wishes, check_files, prepare
from agentic_rl.data.answers import AnswerError, math_answer, search_answers
from agentic_rl.data.splitting import choose

Rows = list[dict[str, Any]]
GSM8K: Rows = [{"question": f"What is {n} + 1,000?", "answer": f"{n}+1000\n#### 1,{n:03}"} for n in range(20)]


def write(path: Path, rows: Rows) -> Path:
    if path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    elif path.suffix == ".json":
        path.write_text(json.dumps(rows))
    else:
        path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return path


def rows_of(path: Path) -> Rows:
    rows: Rows = pq.read_table(path).to_pylist()
    return rows


def codes(report: Any) -> list[tuple[str, str, str]]:
    return [(one.code, one.severity, one.key) for one in report]


@pytest.mark.parametrize("ending", [".parquet", ".json", ".jsonl", ".ndjson", ".JSONL"])
def test_every_kind_of_file_gives_the_same_rows(tmp_path: Path, ending: str) -> None:
    done = prepare("math", [write(tmp_path / f"rows{ending}", GSM8K)], tmp_path / "out", Wishes())
    assert len(done.report) == 0
    assert list(done.written.values()) == [18, 2]
    row = rows_of(tmp_path / "out" / "train.parquet")[0]
    assert row == {
        "data_source": "math",
        "prompt": [
            {
                "role": "user",
                "content": "What is 0 + 1,000?\n\nReason step by step, and put your final answer into \\boxed{}.",
            }
        ],
        "ability": "math",
        "reward_model": {"style": "rule", "ground_truth": "1000"},
        "extra_info": {"split": "train", "index": 0},
    }


def test_modes_are_those_that_training_asks_for(tmp_path: Path) -> None:
    out = tmp_path / "new" / "out"
    prepare("math", [write(tmp_path / "rows.json", GSM8K)], out, Wishes())
    assert S_IMODE(out.stat().st_mode) == 0o750
    assert {S_IMODE(path.stat().st_mode) for path in out.iterdir()} == {0o640}


def test_what_was_prepared_has_no_findings(tmp_path: Path) -> None:
    done = prepare("math", [write(tmp_path / "rows.json", GSM8K)], tmp_path / "out", Wishes(tools=("python",)))
    checked = check_files([Path(path) for path in done.written])
    assert list(checked.report) == []
    assert [one.rows for one in checked.overviews] == [18, 2]
    assert rows_of(tmp_path / "out" / "val.parquet")[0]["extra_info"]["tool_selection"] == ["python"]


@pytest.mark.parametrize(
    ("row", "truth"),
    [
        ({"problem": "p", "solution": "so \\boxed{\\frac{1}{2}}."}, "\\frac{1}{2}"),
        ({"problem": "p", "solution": "long", "answer": "7"}, "7"),
        ({"prompt": "p", "answer": 7}, "7"),
        ({"prompt": "p", "answer": 7.5}, "7.5"),
        ({"prompt": "p", "answer": ["7"]}, "7"),
        ({"query": "p", "reward_model": {"ground_truth": "7"}}, "7"),
    ],
)
def test_the_usual_columns_are_found(tmp_path: Path, row: dict[str, Any], truth: str) -> None:
    done = prepare("math", [write(tmp_path / "rows.jsonl", [row])], tmp_path / "out", Wishes())
    assert list(done.report) == []
    assert rows_of(tmp_path / "out" / "train.parquet")[0]["reward_model"]["ground_truth"] == truth


def test_messages_system_prompts_and_instructions(tmp_path: Path) -> None:
    few = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}, {"role": "user", "content": "c"}]
    rows = [
        {"q": few, "a": "1"},
        {"q": [{"role": "system", "content": "Own."}, few[0]], "a": "1"},
        {"q": "t", "a": "1"},
    ]
    file = write(tmp_path / "rows.jsonl", rows)
    wishes = Wishes(question="q", answer="a", system="Be brief.", instruction="Q: {question} A:", fraction=0)
    prepare("math", [file], tmp_path / "out", wishes)
    system = {"role": "system", "content": "Be brief."}
    assert [row["prompt"] for row in rows_of(tmp_path / "out" / "train.parquet")] == [
        [system, *few],
        rows[1]["q"],
        [system, {"role": "user", "content": "Q: t A:"}],
    ]


@pytest.mark.parametrize(
    ("value", "answers"),
    [
        (["Bern", " Bern ", "the city"], ["Bern", "the city"]),
        ("Bern", ["Bern"]),
        ({"target": ["Bern"]}, ["Bern"]),
        ({"text": ["Bern"], "answer_start": [3]}, ["Bern"]),
        (1848, ["1848"]),
    ],
)
def test_search_answers(tmp_path: Path, value: Any, answers: list[str]) -> None:
    file = write(tmp_path / "rows.jsonl", [{"question": "q?", "golden_answers": value, "data_source": "nq"}])
    prepare("search", [file], tmp_path / "out", Wishes())
    (row,) = rows_of(tmp_path / "out" / "train.parquet")
    assert row["reward_model"]["ground_truth"] == {"target": answers}
    assert row["data_source"] == "nq"
    assert row["prompt"][0]["content"].endswith("Question: q?")


@pytest.mark.parametrize("value", [None, "", [], [" "], [None], {"a": 1}, True, [["x"]]])
def test_no_search_answer(value: Any) -> None:
    with pytest.raises(AnswerError):
        search_answers(value)


@pytest.mark.parametrize("value", [None, "", "####", "\\boxed{}", "x" * 400, True, float("nan"), [], ["a", "b"], {}])
def test_no_math_answer(value: Any) -> None:
    with pytest.raises(AnswerError):
        math_answer(value)


BAD = """\
{"question": "What is 2+3?", "answer": "#### 5"}
{"question": "", "answer": "#### 5"}
not json

{"question": "What is 7?", "answer": null}
[1]
{"question": "\\ud800", "answer": 8}
{"question": [{"role": "user"}], "answer": 8}
{"question": 7, "answer": 8}
{"question": "What is 8?", "answer": 8}
"""


def test_each_bad_row_is_told_with_its_number_and_nothing_is_written(tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    file.write_bytes(b"\xef\xbb\xbf" + BAD.encode() + b'{"question": "\xff", "answer": 1}\n')
    done = prepare("math", [file], tmp_path / "out", Wishes())
    assert [(one.code, one.key, one.line) for one in done.report] == [
        ("ARL472", "[1].question", 2),
        ("ARL470", "[2]", 3),
        ("ARL472", "[3].answer", 5),
        ("ARL470", "[4]", 6),
        ("ARL470", "[5]", 7),
        ("ARL472", "[6].question", 8),
        ("ARL472", "[7].question", 9),
        ("ARL470", "[9]", 11),
    ]
    assert done.written == {}
    assert not (tmp_path / "out").exists()
    skipped = prepare("math", [file], tmp_path / "out", Wishes(skip_bad=True, fraction=0))
    assert {one.severity for one in skipped.report} == {"warning"}
    assert sum(skipped.written.values()) == 2


def test_files_that_cannot_be_used_are_told_whole(tmp_path: Path) -> None:
    (tmp_path / "cut.parquet").write_bytes(b"PAR1 and so on")
    (tmp_path / "list.json").write_text('{"data": [1]}')
    (tmp_path / "lines.json").write_text("{}\n{}\n")
    (tmp_path / "data.csv").write_text("a,b\n")
    (tmp_path / "other.jsonl").write_text('{"text": "x"}\n' * 3)
    names = ["cut.parquet", "list.json", "lines.json", "data.csv", "gone.json", "other.jsonl"]
    done = prepare("math", [tmp_path / name for name in names], tmp_path / "out", Wishes(skip_bad=True))
    found = {Path(one.file).name: one for one in done.report}
    assert set(found) == set(names)
    assert found["list.json"].hint == "write the list 'data' to a file of its own"
    assert found["lines.json"].hint == "a file with an object a line ends in .jsonl"
    assert found["other.jsonl"].code == "ARL471"
    assert len(done.report) == 6
    assert done.written == {}


def test_equal_prompts_stay_on_one_side_and_are_told(tmp_path: Path) -> None:
    rows = [{"question": f"q{n % 5}", "answer": str(n)} for n in range(20)]
    done = prepare("math", [write(tmp_path / "rows.jsonl", rows)], tmp_path / "out", Wishes(fraction=0.4))
    prompts = [{row["prompt"][0]["content"] for row in rows_of(Path(path))} for path in done.written]
    assert prompts[0].isdisjoint(prompts[1])
    assert [len(one) for one in prompts] == [3, 2]
    assert {one.code for one in done.report} == {"ARL473"}
    assert "with another answer" in next(iter(done.report)).message


def test_prompts_of_both_files_are_told(tmp_path: Path) -> None:
    train, val = write(tmp_path / "train.jsonl", GSM8K), write(tmp_path / "val.jsonl", GSM8K[3:4])
    done = prepare("math", [train], tmp_path / "out", Wishes(), [val])
    assert codes(done.report) == [("ARL474", "warning", "[0].prompt")]
    assert str(next(iter(done.report)).message).endswith(f"row 3 of {train}")
    assert list(done.written.values()) == [20, 1]
    both = check_files([Path(path) for path in done.written])
    assert codes(both.report) == [("ARL474", "warning", "[0].prompt")]


@given(st.lists(st.text("ab", max_size=2), max_size=30), st.floats(0, 0.9), st.integers(0, 9))
def test_the_choice_divides_prompts_not_rows(keys: list[str], fraction: float, seed: int) -> None:
    chosen = choose(keys, fraction, seed)
    sides = {key: {number in chosen for number, other in enumerate(keys) if other == key} for key in keys}
    assert all(len(side) == 1 for side in sides.values())
    assert choose(keys, fraction, seed) == chosen
    different = len(set(keys))
    if fraction and different > 1:
        assert 1 <= len({keys[number] for number in chosen}) < different


def test_seeds_choose_otherwise(tmp_path: Path) -> None:
    file = write(tmp_path / "rows.jsonl", GSM8K)
    validating = []
    for number, seed in enumerate((0, 0, 1)):
        prepare("math", [file], tmp_path / f"{number}", Wishes(seed=seed))
        validating.append((tmp_path / f"{number}" / "val.parquet").read_bytes())
    assert validating[0] == validating[1] != validating[2]


def run(*arguments: object) -> Any:
    return CliRunner().invoke(app, ["data", *map(str, arguments)])


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    file = write(tmp_path / "rows.jsonl", GSM8K)
    assert run("prepare", "math", "--from", file, "--out", tmp_path / "out").exit_code == 0
    again = run("prepare", "math", "--from", file, "--out", tmp_path / "out")
    assert again.exit_code == 1
    assert "train.parquet: is there already, and nothing is overwritten" in again.output


def test_the_command_tells_status_and_rows(tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    file.write_text(BAD)
    done = run("prepare", "math", "--from", file, "--out", tmp_path / "out")
    assert done.exit_code == 1
    assert "[2]: the row is not JSON" in done.output
    assert done.output.endswith("nothing was written; --skip-bad leaves out rows that can't be used\n")
    skipped = run("prepare", "math", "--from", file, "--out", tmp_path / "out", "--skip-bad", "--format", "json")
    told = json.loads(skipped.output)
    assert (skipped.exit_code, told["verdict"], list(told["written"].values())) == (0, "warning", [1, 1])
    near = run("prepare", "math", "--from", file, "--out", tmp_path / "o2", "--question", "qestion")
    assert "fix: --question question" in near.output


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["math"], "made of files"),
        (["gym", "--from", "x.json"], "drawn, not"),
        (["math", "--from", "x.json", "--tools", "bash"], "there is no tool 'bash'"),
        (["gym", "--environment", ","], "grid, guess or both"),
    ],
)
def test_wrong_usage(tmp_path: Path, arguments: list[str], said: str) -> None:
    done = run("prepare", *arguments, "--out", tmp_path / "out")
    assert done.exit_code == 2
    assert said in " ".join(done.output.replace("│", " ").split())


def test_games_are_drawn_by_seed_and_never_shared(tmp_path: Path) -> None:
    for name, seed in (("a", 0), ("b", 0), ("c", 1)):
        done = run("prepare", "gym", "--out", tmp_path / name, "--rows", 60, "--val-rows", 20, "--seed", seed)
        assert done.exit_code == 0, done.output
    files = [tmp_path / name / "train.parquet" for name in "abc"]
    assert files[0].read_bytes() == files[1].read_bytes() != files[2].read_bytes()
    checked = check_files([files[0], files[0].with_name("val.parquet")])
    assert list(checked.report) == []
    assert checked.overviews[0].sources == {"gym/grid": 30, "gym/guess": 30}
    few = run("prepare", "gym", "--out", tmp_path / "d", "--environment", "grid", "--size", 2, "--rows", 999)
    assert (few.exit_code, "ask for fewer rows or a larger size" in few.output) == (1, True)
    unknown = run("prepare", "gym", "--out", tmp_path / "d", "--environment", "chess")
    assert "there is no environment 'chess'; there are: grid, guess" in unknown.output
