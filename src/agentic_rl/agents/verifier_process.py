"""The process of `verifier`: its first line is the module path, every further one a pair of answers."""

from __future__ import annotations

import json
import resource
import sys

SECONDS = 2
MEMORY = 4 << 30


def main() -> None:
    """Answer lines until there are no more."""
    sys.path[:] = json.loads(sys.stdin.readline())
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    limit = MEMORY if hard == resource.RLIM_INFINITY else min(MEMORY, hard)
    resource.setrlimit(resource.RLIMIT_AS, (limit, hard))
    try:
        import math_verify  # type: ignore[import-untyped]  # it ships no types
    except ImportError:
        say("missing")
        return
    say("ready")
    for line in sys.stdin:
        answer, truth = json.loads(line)
        try:
            gold = math_verify.parse(f"${truth}$", parsing_timeout=SECONDS)
            found = math_verify.parse(f"${answer}$", parsing_timeout=SECONDS)
            same = bool(math_verify.verify(gold, found, timeout_seconds=SECONDS))
        except Exception:  # what it can't read is not equal
            same = False
        say("yes" if same else "no")


def say(word: str) -> None:
    """Answer with one line."""
    sys.stdout.write(f"{word}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
