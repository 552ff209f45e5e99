"""Our verdicts are MindSpeed-RL's own (master branch), on every configuration that the flat format can express."""

from __future__ import annotations

import json
from collections import Counter
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from mindspeed_oracle import errors, expressible

REPOSITORY = Path(__file__).parents[4]
REFERENCE = REPOSITORY.parent / "shared" / "reference" / "mindspeed-rl-oracle.json"
COPY = json.loads((REPOSITORY / "tests" / "data" / "mindspeed_rl" / "oracle.json").read_text(encoding="utf-8"))


def flat(changes: dict[str, Any]) -> dict[str, Any]:
    tree: dict[str, Any] = deepcopy(COPY["base"])
    for key, value in changes.items():
        section, _, name = key.rpartition(".")
        (tree[section] if section else tree)[name] = value
    return tree


@pytest.mark.parametrize("case", COPY["cases"], ids=lambda case: case["id"])
def test_verdict_is_that_of_mindspeed_rl(case: dict[str, Any]) -> None:
    assert bool(errors(flat(case["changes"]))) == (case["master"] != "ok"), case["master"]


def test_copy_holds_enough_of_both_verdicts() -> None:
    kinds = Counter(case["id"].partition(".")[0] for case in COPY["cases"])
    assert kinds == {"base": 1, "nodes2": 1, "grid": 118, "range": 18, "validator": 6}
    assert Counter(case["master"] == "ok" for case in COPY["cases"]) == {True: 55, False: 89}


@pytest.mark.skipif(not REFERENCE.exists(), reason="the reference stands beside the repository, not in it")
def test_copy_is_all_that_can_be_expressed() -> None:
    assert expressible(json.loads(REFERENCE.read_text(encoding="utf-8"))) == COPY
