from __future__ import annotations

import json
from pathlib import Path

from agentic_rl.backends.verl.inside.events import Events


def test_events_are_lines_that_can_be_read_at_once(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    events = Events(str(path))
    events.say("models loaded")
    events.say(begins=True, step=3)
    assert [json.loads(line) for line in path.read_text().splitlines()] == [
        {"stage": "models loaded"},
        {"begins": True, "step": 3},
    ]
    Events(str(path)).say("again")  # a second start of the job
    assert len(path.read_text().splitlines()) == 3
