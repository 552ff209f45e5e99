"""Batch algebra over all sizes: verdicts agree with the backends' own sums, and what is proposed is accepted."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from hypothesis import assume, event, given
from hypothesis import strategies as st

from agentic_rl.config.diagnostics import Finding
from agentic_rl.config.flat import validate
from agentic_rl.config.flat.artifact_registry import relate
from agentic_rl.config.flat.batches import KEYS

SIZES = st.sampled_from([1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 30, 64, 100, 256, 1000])
FEW = st.integers(1, 12) | st.sampled_from([16, 32])
OURS = {"ARL220", "ARL221", "ARL222", "ARL223", "ARL224", "ARL230", "ARL231"}
REQUIRED: dict[str, dict[str, Any]] = {
    "verl": {"train_files": "/train", "val_files": "/test"},
    "local": {"train_files": "/train", "val_files": "/test"},
    "mindspeed_rl": {"data_path": "/data", "load_params_path": "/params", "save_params_path": "/out"},
}
Sizes = dict[str, int]


@st.composite
def sizes(draw: st.DrawFn, backend: str) -> Sizes:
    """Written sizes by their flat key; some are left to their defaults."""
    few = ("nodes", "devices_per_node", "tensor", "pipeline", "inference_tensor", "group")
    written = draw(st.lists(st.sampled_from(sorted(KEYS[backend])), unique=True, min_size=3))
    return {KEYS[backend][field]: draw(FEW if field in few else SIZES) for field in written}


def tree_of(backend: str, written: Sizes) -> dict[str, Any]:
    tree: dict[str, Any] = {
        "tokenizer_name_or_path": "/model",
        "agent_name": "math",
        "model_name": "qwen2.5-7b",
        "train_backend": backend,
        "dataset_additional_keys": ["problem"],
        backend: dict(REQUIRED[backend]),
    }
    for key, size in written.items():
        section, _, name = key.rpartition(".")
        (tree[section] if section else tree)[name] = size
    return tree


def told(backend: str, written: Sizes) -> list[Finding]:
    found = validate(tree_of(backend, written), lambda key: None).findings
    return [one for one in found if one.code in OURS]


def proposals(backend: str, hint: str) -> Iterator[Sizes]:
    """The changes that the first line of a hint proposes, by flat key."""
    keys = {key.rpartition(".")[2]: key for key in KEYS[backend].values()}
    for alternative in hint.partition("\n")[0].split("; or "):
        changes = [re.fullmatch(r"(\w+): ([\d or]+)", part) for part in alternative.split(" and ")]
        if None in changes:
            continue
        pairs = [(keys[change[1]], change[2].split(" or ")) for change in changes if change]
        if len(pairs) == 1:
            yield from ({pairs[0][0]: int(size)} for size in pairs[0][1])
        else:
            yield {key: int(size) for key, (size,) in pairs}


def mindspeed_refuses(written: Sizes) -> bool:
    """MindSpeed-RL's own sums in its own order; a division by zero refuses, too."""
    defaults = {"nodes": 1, "devices_per_node": 8, "tensor": 4, "pipeline": 1, "inference_tensor": 4, "group": 2}
    at = {**defaults, "batch": 16, "micro": 1, "dispatch": 0}
    at |= {field: written[key] for field, key in KEYS["mindspeed_rl"].items() if key in written}
    devices, cut = at["nodes"] * at["devices_per_node"], at["tensor"] * at["pipeline"]
    if devices % cut or at["batch"] * at["group"] % at["micro"]:
        return True
    ranks, engines = devices // cut, devices // at["inference_tensor"]
    if at["batch"] % ranks or at["batch"] // ranks * at["group"] % at["micro"] or not engines:
        return True
    dispatch = at["dispatch"] or at["batch"] * at["group"] // engines
    if not dispatch or at["batch"] % engines or at["batch"] // engines * at["group"] % dispatch:
        return True
    return at["batch"] % at["nodes"] != 0


@given(sizes("mindspeed_rl"))
def test_verdict_on_mindspeed_rl_is_its_own(written: Sizes) -> None:
    found = told("mindspeed_rl", written)
    event(f"{[one.code for one in found]}")
    # Every size that takes part in a broken relation may be a default; then the verdict is a warning.
    assert bool(found) == mindspeed_refuses(written)


@given(sizes("verl"))
def test_verdict_on_verl_is_its_own(written: Sizes) -> None:
    batch = written.get("verl.train_batch_size", 8)
    mini = written.get("verl.ppo_mini_batch_size", min(16, batch))
    assume(mini <= batch)
    samples = mini * written.get("rollout_n", 2)
    devices = written.get("num_gpus_per_node", 8) * written.get("verl.nnodes", 1)
    codes = [one.code for one in told("verl", written)]
    assert codes == (["ARL230"] if samples % devices else ["ARL231"] if batch % mini else [])


@given(st.sampled_from(["verl", "mindspeed_rl"]).flatmap(lambda backend: st.tuples(st.just(backend), sizes(backend))))
def test_what_is_proposed_is_accepted(case: tuple[str, Sizes]) -> None:
    backend, written = case
    found = told(backend, written)
    assume(found)
    for finding in found:
        changes = list(proposals(backend, finding.hint))
        assert changes
        for change in changes:
            left = {one.code for one in told(backend, {**written, **change})}
            assert finding.code not in left
            assert not left or len(found) > 1


@given(st.sampled_from(["verl", "local"]), st.data(), st.integers(0, 300))
def test_batch_proposed_for_few_rows_fits_rows_and_devices(backend: str, data: st.DataObject, rows: int) -> None:
    written = data.draw(sizes(backend))
    for change in _for_rows(backend, written, rows):
        again = {**written, **change}
        assert _for_rows(backend, again, rows) == []
        assert told(backend, again) == []


def _for_rows(backend: str, written: Sizes, rows: int) -> list[Sizes]:
    validated = validate(tree_of(backend, written), lambda key: None)
    found = [one for one in relate(validated, {"@train.rows": rows}, lambda key: None) if one.code == "ARL232"]
    return [change for one in found for change in proposals(backend, one.hint)]


@given(st.sampled_from(sorted(KEYS)).flatmap(lambda backend: st.tuples(st.just(backend), sizes(backend))))
def test_numbers_of_the_table_agree(case: tuple[str, Sizes]) -> None:
    backend, written = case
    group = written.get("rollout_n", 2)
    validated = validate(tree_of(backend, written), lambda key: None)
    found = [*validated.findings, *relate(validated, {"@train.rows": 0}, lambda key: None)]
    for finding in found:
        if finding.code not in {*OURS, "ARL232"}:
            continue
        head, _, *lines = finding.hint.split("\n")[1:]
        parts = [re.search(rf"(\d+) {what}", head) for what in ("data-parallel rank", "inference engine")]
        for line in lines:
            name, prompts, samples, *shares = re.split(r"  +", line)
            if "-" in (prompts, samples) or name == "val_batch_size":
                continue
            assert int(samples) == int(prompts) * group
            for share, part in zip(shares, parts, strict=False):
                count = int(part[1]) if part else 1
                assert share == "-" or _agrees(share, int(prompts), int(samples), count)


def _agrees(share: str, prompts: int, samples: int, parts: int) -> bool:
    of_prompts, of_samples = (float(text.split()[0]) for text in share.split(" = "))
    return abs(of_prompts - prompts / parts) < 0.006 and abs(of_samples - samples / parts) < 0.006
