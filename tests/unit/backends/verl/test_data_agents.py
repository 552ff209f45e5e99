from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from agentic_rl.backends.verl.data_agents import agents_of_data, check_agents
from agentic_rl.config.secure_paths import check_path

KEY = "verl.train_files"


def run(folder: Path, columns: dict[str, list[Any]], agent: str = "math") -> Any:
    folder.chmod(0o750)
    path = folder / "tasks.parquet"
    pq.write_table(pa.table(columns), path)
    path.chmod(0o640)
    check = check_path(str(path), KEY, "file")
    assert check.checked is not None, check.findings
    return SimpleNamespace(agent_name=agent, data={KEY: check.checked})


@pytest.mark.parametrize(
    ("columns", "names"),
    [
        ({"prompt": ["a", "b"]}, []),
        ({"agent_name": ["math", "other", None, "", "other"]}, ["math", "other"]),
        ({"agent_name": pa.array(["b", "a", "b"]).dictionary_encode()}, ["b", "a"]),
        ({"agent_name": [1, 2]}, []),
        ({"agent_name": [["math"]]}, []),
    ],
)
def test_agents_that_rows_name(columns: dict[str, Any], names: list[str], tmp_path: Path) -> None:
    assert agents_of_data(run(tmp_path, columns)) == {KEY: names}


def test_a_file_that_is_no_parquet_names_none(tmp_path: Path) -> None:
    one = run(tmp_path, {"agent_name": ["x"]})
    path = Path(one.data[KEY].path)
    path.write_bytes(b"no parquet")
    assert agents_of_data(one) == {KEY: []}


@pytest.mark.parametrize("names", [["math"], ["mine"], [None]])
def test_known_agents_are_fine(names: list[str | None], tmp_path: Path) -> None:
    assert list(check_agents(run(tmp_path, {"agent_name": names}, agent="mine"))) == []


def test_an_agent_that_nobody_registered(tmp_path: Path) -> None:
    (found,) = check_agents(run(tmp_path, {"agent_name": ["math", "mth", "mathe"]}))
    assert (found.severity, found.code, found.key) == ("error", "ARL518", KEY)
    assert found.message == "rows name the agent 'mth' (and 1 more) in agent_name, which nobody registered"
    assert found.hint.startswith("one of math")
