"""Runs to look at, for the tests of the viewer."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

SCRIPT = '</script><script>window.pwned = 1</script><img src="x" onerror="window.pwned = 1"><!--'


def rollout(step: int = 1, idx: int = 0, sample: int = 0, **changes: Any) -> dict[str, Any]:
    """A line of trajectories.jsonl: two turns, and a tool call between them."""
    call = {"id": "c", "type": "function", "function": {"name": "calculator", "arguments": '{"expression": "6*7"}'}}
    record = {
        "schema": 2,
        "step": step,
        "idx": idx,
        "sample": sample,
        "data_source": "calc",
        "reward": float(sample % 2),
        "finish_reason": "done",
        "error": "",
        "messages": [
            {"role": "user", "content": f"What is 6*7 in step {step}?"},
            {"role": "assistant", "content": "Let me", "tool_calls": [call], "finish_reason": "tool_calls"},
            {"role": "tool", "tool_call_id": "c", "content": "42"},
            {"role": "assistant", "content": "So 42", "finish_reason": "stop"},
        ],
        "prompt_tokens": [0, 1],
        "response_tokens": [2, 3, 4, 5, 6, 7],
        "response_mask": [1, 1, 1, 0, 1, 1],
        "response_logprobs": [-0.1, -1.0, -3.0, 0.0, -0.01, -0.5],
        "segments": [],
    }
    return {**record, **changes}


def with_advantage(record: dict[str, Any], advantage: float) -> dict[str, Any]:
    """A line as one of a run whose advantages follow from the rewards: the advantage stands after the reward."""
    before = [name for name in record if name in {"schema", "step", "idx", "sample", "data_source", "reward"}]
    return {**{name: record[name] for name in before}, "advantage": advantage, **record}


VOCABULARY = ["user", "?", "Let", "Ġme", "<call>", "42Ċ", "So", "Ġ42"]


def write_lines(path: Path, records: Iterable[Mapping[str, Any]], end: str = "\n") -> Path:
    """Add lines to a file; `end` stands after the last one."""
    with path.open("a") as file:
        file.write("\n".join(json.dumps(record) for record in records) + end)
    return path


def write_run(folder: Path, records: Iterable[Mapping[str, Any]] = (), *, tokenizer: bool = True) -> Path:
    """A run's folder with some rollouts, measurements and a checkpoint's tokenizer."""
    folder.mkdir(parents=True)
    records = list(records) or [rollout(step, idx, sample) for step in (1, 2) for idx in (0, 1) for sample in range(4)]
    write_lines(folder / "trajectories.jsonl", records)
    measured = [{"phase": "training", "step": step, "reward/mean": step / 4, "policy/loss": -0.1} for step in (1, 2, 3)]
    write_lines(folder / "metrics.jsonl", [*measured, {"phase": "evaluation", "step": 3, "eval/reward": 0.5}])
    (folder / "config.resolved.yaml").write_text("agent_name: math\ntokenizer_name_or_path: /nowhere\n")
    (folder / "versions.json").write_text('{"python": "3.11"}')
    if tokenizer:
        write_tokenizer(folder / "global_step_2")
    return folder


def write_tokenizer(folder: Path, vocabulary: Iterable[str] = VOCABULARY) -> Path:
    """A byte-level tokenizer.json of these tokens."""
    folder.mkdir(parents=True)
    model = {"type": "BPE", "vocab": {token: number for number, token in enumerate(vocabulary)}, "merges": []}
    content = {"model": model, "decoder": {"type": "ByteLevel"}, "added_tokens": []}
    (folder / "tokenizer.json").write_text(json.dumps(content))
    return folder
