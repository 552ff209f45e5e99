"""What the page asks the server for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from agentic_rl.view.curves import Curves
from agentic_rl.view.index import Index
from agentic_rl.view.listing import listing
from agentic_rl.view.messages import BRIEF, Limits
from agentic_rl.view.rollouts import shown_rollout
from agentic_rl.view.run import Run
from agentic_rl.view.searching import search
from agentic_rl.view.tokenizer_file import vocabulary_of

Query = Mapping[str, str]


class WrongQueryError(ValueError):
    """A parameter is missing or no number."""


class Answers:
    """Answers about one run; may be asked from several threads.

    Raises:
        ViewError: `tokenizer` has no readable vocabulary.
    """

    def __init__(self, run: Run, tokenizer: Path | None = None) -> None:
        self.run = run
        self.index = Index(run.trajectories)
        self.curves = Curves(run.metrics)
        self._given = tokenizer
        self._vocabulary = vocabulary_of(run, tokenizer)
        self.by_name: Mapping[str, Callable[[Query], Any]] = {
            "run": lambda _: self.description(),
            "curves": lambda _: self.curves.read(),
            "groups": lambda query: listing(self.index, _number(query, "start")),
            "rollout": self.rollout,
            "search": lambda query: search(self.index, query.get("text", ""), _number(query, "start")),
        }

    def description(self) -> dict[str, Any]:
        """What does not change while a run goes on."""
        return {
            "title": self.run.title,
            "folder": str(self.run.folder),
            "trajectories": self.run.trajectories.name,
            "configuration": self.run.configuration,
            "versions": self.run.versions,
            "vocabulary": self._vocabulary is not None,
        }

    def rollout(self, query: Query) -> dict[str, Any]:
        """One rollout, cut short with `brief=1`.

        Raises:
            LookupError: there is no such rollout any more.
            ValueError: its line can't be read.
        """
        limits = BRIEF if query.get("brief") == "1" else Limits()
        return self.shown(_number(query, "row"), limits, _number(query, "generation"))

    def shown(self, row: int, limits: Limits, generation: int | None = None) -> dict[str, Any]:
        """A rollout within `limits`."""
        if self._vocabulary is None:  # a run that has begun just now may have no checkpoint yet
            self._vocabulary = vocabulary_of(self.run, self._given)
        return {"row": row, **shown_rollout(self.index.line(row, generation), self._vocabulary, limits)}


def _number(query: Query, name: str) -> int:
    try:
        return int(query[name])
    except (KeyError, ValueError):
        raise WrongQueryError(f"{name} has to be a whole number") from None
