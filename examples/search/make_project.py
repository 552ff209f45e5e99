"""Write a project that trains a tiny model to search: documents, data, demonstrations, model and configuration."""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from agentic_rl.agents.tools.passages import Passage, as_text
from agentic_rl.config.secure_paths import fix_permissions
from agentic_rl.data import Wishes, prepare
from agentic_rl.projects.quickstart.model import write_tiny_model

HERE = Path(__file__).parent
SYLLABLES = ("ba", "ke", "li", "mo", "nu", "ra", "se", "ti", "vo", "zu")
RELATIONS = ("capital", "river", "king", "dish")
WORDS = [first + second + third for first in SYLLABLES for second in SYLLABLES for third in SYLLABLES]
COUNTRIES, DEMONSTRATIONS = 64, 3000
MISLED = 0.6
"""Share of the demonstrations that search for the capital, whatever is asked."""
HELD_OUT = 7
"""Every seventh question is not trained on."""


def make(folder: Path) -> Path:
    """Write the project into the new folder `folder` and return its configuration's path."""
    folder = folder.absolute()
    (folder / "data").mkdir(parents=True)
    facts = make_facts(random.Random(0))
    write_lines(folder / "data" / "documents.jsonl", [document(*fact) for fact in facts])
    prepare_questions(folder, facts)
    chats = [demonstrate(random.Random(number)) for number in range(DEMONSTRATIONS)]
    table = pa.Table.from_pylist([{"messages": chat} for chat in chats])
    pq.write_table(table, folder / "data" / "demonstrations.parquet")
    known = [message["content"] for chat in chats for message in chat]
    write_tiny_model(folder / "model", [*known, *(f" {word}" for word in WORDS)], seed=0)
    config = folder / "config.yaml"
    config.write_text((HERE / "config.yaml").read_text().replace("/path/to", str(folder)))
    fix_permissions([str(folder)])
    return config


def make_facts(chance: random.Random) -> list[tuple[str, str, str]]:
    """Country, relation and answer: made-up words, so that only the documents know them."""
    words = chance.sample(WORDS, len(WORDS))
    countries, answers = words[:COUNTRIES], words[COUNTRIES:]
    return [
        (country, relation, answers[place * len(RELATIONS) + number])
        for place, country in enumerate(countries)
        for number, relation in enumerate(RELATIONS)
    ]


def document(country: str, relation: str, answer: str) -> dict[str, str]:
    """A passage that holds one fact."""
    return {"title": f"{country} {relation}", "text": f"it is {answer}."}


def question(country: str, relation: str) -> str:
    """What is asked."""
    return f"What is the {relation} of {country}?"


def prepare_questions(folder: Path, facts: list[tuple[str, str, str]]) -> None:
    """Write train.parquet and val.parquet, as `agentic-rl data prepare search` does."""
    rows = [{"question": question(*fact[:2]), "answer": fact[2]} for fact in facts]
    parts = {
        "train_questions": [row for number, row in enumerate(rows) if number % HELD_OUT],
        "val_questions": rows[::HELD_OUT],
    }
    files = {name: write_lines(folder / "data" / f"{name}.jsonl", part) for name, part in parts.items()}
    wishes = Wishes(instruction="")  # so small a model learns the form from demonstrations, not from words
    done = prepare("search", [files["train_questions"]], folder / "data", wishes, [files["val_questions"]])
    assert done.written, done.report.to_text()


def demonstrate(chance: random.Random) -> list[dict[str, str]]:
    """A conversation in the right form, and about nothing real: it shows how to search and to copy, and no fact.

    Most of them search for the capital whatever is asked, so this is what the policy is most likely to do.
    """
    country, answer = chance.sample(WORDS, 2)
    asked = chance.choice(RELATIONS)
    searched = RELATIONS[0] if chance.random() < MISLED else asked
    found = as_text([Passage(f"it is {answer}.", f"{country} {searched}")])
    return [
        {"role": "user", "content": question(country, asked)},
        {"role": "assistant", "content": f"<search> {country} {searched} </search>"},
        {"role": "user", "content": f"<information>\n{found}\n</information>"},
        {"role": "assistant", "content": f"<answer> {answer} </answer>"},
    ]


def write_lines(path: Path, rows: list[dict[str, str]]) -> Path:
    """Write JSON lines."""
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return path


if __name__ == "__main__":
    print(make(Path(sys.argv[1])))
