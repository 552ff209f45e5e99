"""Where the tokenizer of a run is."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import yaml

from agentic_rl.view.errors import ViewError
from agentic_rl.view.run import Run
from agentic_rl.view.vocabulary import FILE, Vocabulary, read_vocabulary

_STEP = re.compile(r"global_step_(\d+)")
_BELOW = (FILE, f"huggingface/{FILE}", f"actor/huggingface/{FILE}")
"""In a checkpoint of the local backend, and in one of verl."""


def vocabulary_of(run: Run, given: Path | None) -> Vocabulary | None:
    """The vocabulary at `given`, or else of the run's newest checkpoint, or else of the model that it began with.

    Raises:
        ViewError: `given` has none that can be read.
    """
    if given is not None:
        vocabulary = read_vocabulary(given if given.is_file() else given / FILE)
        if vocabulary is None:
            raise ViewError(f"{given} has no readable {FILE}; give the folder of the model or tokenizer")
        return vocabulary
    return next((found for found in map(read_vocabulary, _places(run)) if found is not None), None)


def _places(run: Run) -> Iterator[Path]:
    for checkpoint in sorted(run.folder.glob("global_step_*"), key=_step, reverse=True):
        yield from (checkpoint / name for name in _BELOW if (checkpoint / name).is_file())
    model = _model(run.configuration)
    if model:
        yield Path(model) / FILE


def _step(checkpoint: Path) -> int:
    found = _STEP.fullmatch(checkpoint.name)
    return int(found.group(1)) if found else -1


def _model(configuration: str) -> str:
    try:
        values = yaml.safe_load(configuration)
    except yaml.YAMLError:
        return ""
    model = values.get("tokenizer_name_or_path") if isinstance(values, dict) else None
    return model if isinstance(model, str) else ""
