"""Write a project that trains a tiny model to walk to a goal: data, demonstrations, model and configuration."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import torch
from transformers import Qwen3Config, Qwen3ForCausalLM

from agentic_rl import Task
from agentic_rl.agents.builtin.grid import MOVES, Grid
from agentic_rl.config.secure_paths import fix_permissions
from agentic_rl.data.games import prepare_games
from agentic_rl.projects.quickstart.tokenizer import build_tokenizer

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
    write_model(folder / "model", [message["content"] for walk in walks for message in walk])
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


def write_model(folder: Path, texts: list[str]) -> None:
    """Write a random model of about a hundred thousand parameters, and a tokenizer that knows the words of the game."""
    tokenizer = build_tokenizer(texts)
    torch.manual_seed(0)
    config = Qwen3Config(
        vocab_size=len(tokenizer),
        hidden_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=4,
        head_dim=16,
        intermediate_size=192,
        max_position_embeddings=1024,
        initializer_range=0.1,  # the usual 0.02 suits wide models
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        dtype="float32",
    )
    Qwen3ForCausalLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)


if __name__ == "__main__":
    print(make(Path(sys.argv[1])))
