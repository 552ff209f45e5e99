"""Word problems whose answer needs the calculator, split so that test numbers are never trained on.

The policy has no way to compute: it must find out from the words which operation is meant, copy the two numbers
into a call of the calculator, and copy the result into its answer.
"""

from __future__ import annotations

import random
import zlib
from dataclasses import dataclass

NAMES = ("Tom", "Ana", "Ben", "Eva", "Max", "Mia", "Leo", "Ida", "Sam", "Zoe", "Jan", "Amy")
THINGS = ("coins", "books", "apples", "stamps", "cards", "shells", "beads", "pens")


@dataclass(frozen=True)
class Operation:
    """One of the four operations and the ways to ask for it."""

    name: str
    symbol: str
    phrasings: tuple[str, ...]
    """Texts with the fields name, things, a and b; the answer is `a symbol b`."""

    def answer(self, a: int, b: int) -> int:
        """The whole number that `a symbol b` gives; only for pairs of `number_pairs`."""
        return {"+": a + b, "-": a - b, "*": a * b, "/": a // b}[self.symbol]


OPERATIONS = (
    Operation(
        "add",
        "+",
        (
            "{name} has {a} {things} and finds {b} more. How many {things} now?",
            "{name} buys {a} {things} today and {b} tomorrow. How many together?",
            "A box holds {a} {things}. {name} adds {b}. How many are in the box?",
        ),
    ),
    Operation(
        "subtract",
        "-",
        (
            "{name} has {a} {things} and loses {b}. How many {things} now?",
            "{name} buys {a} {things} and sells {b}. How many are left?",
            "A box holds {a} {things}. {name} takes {b}. How many are in the box?",
        ),
    ),
    Operation(
        "multiply",
        "*",
        (
            "{name} has {a} bags of {b} {things}. How many {things} now?",
            "{name} buys {a} {things} a day for {b} days. How many together?",
            "A box holds {a} rows of {b} {things}. How many are in the box?",
        ),
    ),
    Operation(
        "divide",
        "/",
        (
            "{name} shares {a} {things} among {b} friends. How many for each?",
            "{name} packs {a} {things} into {b} bags. How many are in each?",
            "{name} lays {a} {things} in {b} equal rows. How many in one row?",
        ),
    ),
)


@dataclass(frozen=True)
class Problem:
    """A question, the expression that answers it, and the answer."""

    operation: Operation
    a: int
    b: int
    text: str

    @property
    def answer(self) -> int:
        """The whole number asked for, from 0 to 99."""
        return self.operation.answer(self.a, self.b)

    @property
    def expression(self) -> str:
        """What the calculator must be asked."""
        return f"{self.a}{self.operation.symbol}{self.b}"


def every_text() -> list[str]:
    """Every question there is, with one pair of numbers: all words that a tokenizer must know."""
    return [
        phrasing.format(name=name, things=things, a=12, b=7)
        for operation in OPERATIONS
        for phrasing in operation.phrasings
        for name in NAMES
        for things in THINGS
    ]


def number_pairs(operation: Operation, *, test: bool) -> list[tuple[int, int]]:
    """All pairs with numbers from 2 to 97 and a whole answer from 0 to 99, of one side of the split."""
    limit = 100
    pairs = [(a, b) for a in range(2, 98) for b in range(2, 98) if held_out(a, b) is test]
    if operation.symbol == "/":
        return [(a, b) for a, b in pairs if a % b == 0 and a > b]
    return [(a, b) for a, b in pairs if 0 <= operation.answer(a, b) < limit]


def held_out(a: int, b: int) -> bool:
    """Whether a pair, in either order, is kept for the test set (one in eight)."""
    low, high = sorted((a, b))
    return zlib.crc32(f"{low} {high}".encode()) % 8 == 0


def make_problems(count: int, rng: random.Random, *, test: bool) -> list[Problem]:
    """`count` distinct problems in random order, equally many of each operation."""
    problems: dict[str, Problem] = {}
    pairs = {operation: number_pairs(operation, test=test) for operation in OPERATIONS}
    while len(problems) < count:
        operation = OPERATIONS[len(problems) % len(OPERATIONS)]
        problem = _ask(operation, rng.choice(pairs[operation]), rng)
        problems.setdefault(problem.text, problem)
    shuffled = list(problems.values())
    rng.shuffle(shuffled)
    return shuffled


def _ask(operation: Operation, pair: tuple[int, int], rng: random.Random) -> Problem:
    a, b = pair
    text = rng.choice(operation.phrasings).format(name=rng.choice(NAMES), things=rng.choice(THINGS), a=a, b=b)
    return Problem(operation, a, b, text)
