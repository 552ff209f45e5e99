"""Parquet files that lie, each refused in bounded time and memory."""

from __future__ import annotations

import resource
from collections.abc import Callable
from pathlib import Path

import pytest

from agentic_rl.config.artifacts import parquet_file
from agentic_rl.config.artifacts.parquet_file import OutOfBoundsError, ParquetData, spread
from agentic_rl.config.artifacts.thrift import CompactReader, MalformedError
from artifact_doubles import read_artifacts, task_rows, write_rows

KEY = "verl.train_files"


def found(path: Path, data: bytes) -> tuple[str, str]:
    file = path / "data.parquet"
    file.write_bytes(data)
    (one,) = read_artifacts({KEY: file}).findings
    assert one.key == KEY
    return one.code, one.message


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda _: b"", "is empty"),
        (lambda _: b"prompt,answer\n", "is no parquet file"),
        (lambda _: b"PAR1", "is cut off"),
        (lambda whole: whole[:-50], "is cut off: it has no footer at its end"),
        (lambda whole: whole[:-8] + b"\xff\xff\xff\x7f" + b"PAR1", "says that its footer has 2.1 GB"),
        (lambda whole: b"PAR1" + whole[-600:], "its footer"),
        (lambda whole: whole[:-300] + b"\xff" * 292 + whole[-8:], "is not readable as parquet"),
    ],
)
def test_a_file_that_is_no_whole_parquet_file(change: Callable[[bytes], bytes], said: str, tmp_path: Path) -> None:
    whole = write_rows(tmp_path / "good.parquet", task_rows(3)).read_bytes()
    code, message = found(tmp_path, change(whole))
    assert code == "ARL420"
    assert said in message


def test_data_that_are_cut_out_of_the_middle(tmp_path: Path) -> None:
    whole = write_rows(tmp_path / "good.parquet", task_rows(2000), store_schema=False).read_bytes()
    code, message = found(tmp_path, whole[:4] + whole[-1600:])
    assert code == "ARL420"
    assert "but its footer places data at byte" in message


def test_a_page_that_is_larger_than_its_part(tmp_path: Path) -> None:
    whole = write_rows(tmp_path / "good.parquet", task_rows(50), compression="zstd").read_bytes()
    with (tmp_path / "good.parquet").open("rb") as file:
        data = ParquetData(file)
        chunk = data._parquet.metadata.row_group(0).column(data.leaves("prompt", "content")[0])
    start = chunk.dictionary_page_offset
    assert whole[start : start + 3] == b"\x15\x04\x15"  # a dictionary page; its decompressed size comes next
    huge = whole[: start + 3] + b"\xfe\xff" + whole[start + 5 :]
    code, message = found(tmp_path, huge)
    assert code == "ARL420"
    assert "page at byte" in message


def test_what_is_too_large_to_decode_is_a_note(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet_file, "MAX_PAGE", 100)
    path = write_rows(tmp_path / "data.parquet", task_rows(50), use_dictionary=False)
    (one,) = read_artifacts({KEY: path}).findings
    assert (one.code, one.severity) == ("ARL450", "note")
    assert "rows were not looked at" in one.message
    monkeypatch.setattr(parquet_file, "MAX_VALUES", 10)
    with path.open("rb") as file, pytest.raises(OutOfBoundsError, match="a part of 50 values"):
        list(ParquetData(file).batches([1], 10))


def test_zeros_that_decompress_to_gigabytes_are_not_decoded(tmp_path: Path) -> None:
    rows = task_rows(1, prompt=[{"role": "user", "content": "0" * (80 << 20)}])
    path = write_rows(tmp_path / "data.parquet", rows, compression="zstd", write_statistics=False)
    assert path.stat().st_size < 1 << 20
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert [one.code for one in read_artifacts({KEY: path}).findings] == ["ARL450"]
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 20 << 10


def test_a_spread_begins_with_numbers_far_apart() -> None:
    assert spread(8) == [0, 4, 2, 6, 1, 5, 3, 7]
    assert sorted(spread(1000)) == list(range(1000))
    assert spread(0) == []


@pytest.mark.parametrize(
    ("data", "fields"),
    [
        (b"\x00", {}),
        (b"\x15\x04\x15\x80\x01\x00", {1: 2, 2: 64}),
        (b"\x15\x03\x00", {1: -2}),
        (b"\x2c\x15\x02\x00\x11\x00", {2: {1: 1}, 3: 1}),
        (b"\x18\x03abc\x15\x02\x00", {1: None, 2: 1}),
        (b"\x19\x25\x02\x04\x15\x02\x00", {1: None, 2: 1}),
        (b"\x17\x00\x00\x00\x00\x00\x00\x00\x00\x13\x07\x00", {1: None, 2: None}),
    ],
)
def test_structs_of_the_compact_protocol(data: bytes, fields: dict[int, object]) -> None:
    reader = CompactReader(data + b"rest")
    assert reader.struct() == fields
    assert reader.position == len(data)


@pytest.mark.parametrize(
    "data",
    [b"", b"\x15", b"\x15" + b"\xff" * 12, b"\x1c" * 100, b"\x1b\x00", b"\x18\xff\xff\x03", b"\x19\xf1\xff\xff\x7f"],
)
def test_bytes_that_are_no_struct(data: bytes) -> None:
    with pytest.raises(MalformedError):
        CompactReader(data).struct()
