"""Rows for the agent `gym`: each is a game of its own, drawn from a seed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from agentic_rl.agents.builtin.gym import GAMES
from agentic_rl.data.kinds import Record, record
from agentic_rl.data.writing import write_files

_TRIES = 50
"""Seeds that are drawn for each game that is wanted, before it is said that there are not so many."""


class TooFewGamesError(ValueError):
    """A game has fewer different beginnings than were asked for."""


def prepare_games(
    names: Sequence[str], out: Path, *, rows: int, val_rows: int, seed: int, size: int | None = None
) -> dict[str, int]:
    """Write `train.parquet` and `val.parquet`; no game of the one is in the other, and none is in one twice.

    Two games are the same if they show the same, or, where they hide something, if they have one seed.

    Args:
        names: environments that are built in, which take turns.
        out: the folder.
        rows: games to train on.
        val_rows: games to validate on.
        seed: other seeds give other games.
        size: of every game; None: the usual one.

    Returns:
        Path -> rows.

    Raises:
        TooFewGamesError: there are not so many different games of this size.
        ValueError: there is no such environment or size.
        FileExistsError, OSError: see `write_files`.
    """
    wanted = rows + val_rows
    made = {name: _games(name, -(-wanted // len(names)), seed, size) for name in names}
    mixed = [made[names[number % len(names)]][number // len(names)] for number in range(wanted)]
    parts = {"val": mixed[:val_rows], "train": mixed[val_rows:]}
    return write_files(out, {name: _numbered(name, parts[name]) for name in ("train", "val") if parts[name]})


def _games(name: str, count: int, seed: int, size: int | None) -> list[Record]:
    if name not in GAMES:
        raise ValueError(f"there is no environment {name!r}; there are: {', '.join(GAMES)}")
    game = GAMES[name]
    size = game.size if size is None else size
    if size not in game.sizes:
        raise ValueError(f"{name} has sizes from {game.sizes[0]} to {game.sizes[-1]}, not {size}")
    different: dict[object, Record] = {}
    for number in range(seed * 10_000_019, seed * 10_000_019 + count * _TRIES):
        one = game()
        opening = one.begin(number, size)
        key: object = number if game.hides else opening
        if key not in different:
            extra = {"environment": name, "seed": number, "size": size}
            messages = [{"role": "user", "content": opening}]
            different[key] = record("gym", messages, one.solution(), source=f"gym/{name}", ability="gym", extra=extra)
            if len(different) == count:
                return list(different.values())
    raise TooFewGamesError(
        f"{name} of size {size} has {len(different)} different games or hardly more, and {count} were asked for; "
        "ask for fewer rows or a larger size"
    )


def _numbered(split: str, rows: Sequence[Record]) -> list[Record]:
    return [{**row, "extra_info": {"split": split, "index": n, **row["extra_info"]}} for n, row in enumerate(rows)]
