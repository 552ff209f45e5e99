"""Write a project that trains a tiny model to walk to a goal: data, demonstrations, model and configuration."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from agentic_rl import Task
from agentic_rl.agents.builtin.grid import MOVES, Grid
from agentic_rl.config.secure_paths import fix_permissions
from agentic_rl.data.games import prepare_games
from agentic_rl.projects.quickstart.model import write_tiny_model

HERE = Path(__file__).parent
SIZE = 4
TRAIN, VAL, DEMONSTRATIONS = 1600, 200, 3000


def make(folder: Path) -> Path:
    """Write the project into the new folder `folder` and return its configuration's path."""
    folder = folder.absolute()
    folder.mkdir(parents=True)
    prepare_games(["grid"], folder / "data", rows=TRAIN, val_rows=VAL, seed=0, size=SIZE)
    walks = [wander(random.Random(number), number) for number in range(DEMONSTRATIONS)]
    table = pa.Table.from_pylist([{"messages": walk} for walk in walks])
    pq.write_table(table, folder / "data" / "demonstrations.parquet")
    texts = [message["content"] for walk in walks for message in walk]
    write_tiny_model(folder / "model", texts, seed=0, max_length=1024)
    config = folder / "config.yaml"
    config.write_text((HERE / "config.yaml").read_text().replace("/path/to", str(folder)))
    fix_permissions([str(folder)])
    return config


def wander(chance: random.Random, number: int) -> list[dict[str, str]]:
    """A walk of a few steps in any free direction: it shows how to answer, not where to go."""
    grid = Grid()
    text = grid.reset(Task([], extra_info={"seed": -1 - number, "size": SIZE}))  # no game of the data has such a seed
    messages = [{"role": "user", "content": text}]
    for _ in range(4):
        free = [move for move in MOVES if grid.after(grid.place, move)]
        messages.append({"role": "assistant", "content": chance.choice(free)})
        seen = grid.step(messages[-1])
        if seen.done:
            break
        messages.append({"role": "user", "content": seen.text})
    return messages if messages[-1]["role"] == "assistant" else messages[:-1]


if __name__ == "__main__":
    print(make(Path(sys.argv[1])))
