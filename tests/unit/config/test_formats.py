"""A format is recognised by its keys."""

from __future__ import annotations

import pytest

from agentic_rl.config.formats import detect, tell_tale


@pytest.mark.parametrize(
    ("keys", "found", "key"),
    [
        (["agentic_ai", "serve_conf", "train_instances"], "aura", "agentic_ai"),
        (["defaults", "train_instances"], "aura", "train_instances"),
        (["defaults", "hydra", "cluster", "runner", "algorithm"], "rlinf", "cluster"),
        (["runner", "rollout"], "rlinf", "runner"),
    ],
)
def test_other_formats(keys: list[str], found: str, key: str) -> None:
    assert detect(keys) == found
    assert tell_tale(keys, detect(keys)) == key


@pytest.mark.parametrize("keys", [[], ["lr", "verl"], ["lr", "rollout", "data"], ["cluster"], ["lr", "runner"]])
def test_everything_else_is_flat(keys: list[str]) -> None:
    assert detect(keys) == "flat"
