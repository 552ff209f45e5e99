"""The batch algebra of verl and local (ARL230 to ARL232)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import gcd, lcm

from agentic_rl.config.diagnostics import Severity
from agentic_rl.config.fields.wording import show
from agentic_rl.config.flat.batches import KEYS, Layout, layout_of, table
from agentic_rl.config.flat.in_force import origin, source, told, trains
from agentic_rl.config.flat.nearest import Change, divisors, multiples, nearest, remedy
from agentic_rl.config.rules import Facts, Problem, Rule, rule

BATCH_RULES: list[Rule] = []
DATA_RULES: list[Rule] = []
"""Rules that need the number of rows."""


def accepted(layout: Layout) -> bool:
    """Whether the step splits into whole mini batches and each of them evenly over the ranks."""
    if layout.backend == "local":  # it splits a step into mini batches as even as possible
        return layout.mini <= layout.batch
    return layout.mini <= layout.batch and layout.batch % layout.mini == 0 and _even_mini_batch(layout)


def _even_mini_batch(layout: Layout) -> bool:
    return layout.mini * layout.group % layout.ranks == 0


def _step(layout: Layout) -> int:
    """What a mini batch must be a multiple of, in prompts."""
    return layout.ranks // gcd(layout.ranks, layout.group)


def _mini(facts: Facts, layout: Layout) -> str:
    key = KEYS["verl"]["mini"]
    return f"ppo_mini_batch_size {show(layout.mini)}{source(facts, key)}"


def _hint(layout: Layout, changes: Iterable[Change], otherwise: str = "see the table") -> str:
    return "\n".join([remedy(layout, changes) or otherwise, *table(layout)])


def _candidates(layout: Layout, most: int | None = None) -> Iterator[Change]:
    """Changes of the mini batch, of the batch, and of both, near the sizes that are written; batches up to `most`."""
    step = _step(layout)
    minis = {*multiples(layout.mini, step), *(step * part for part in divisors(layout.batch // step, layout.mini))}
    yield from ({"mini": mini} for mini in minis if most is None)
    batch = layout.batch if most is None else min(layout.batch, most)
    whole = lcm(step, layout.written_mini or 1)
    sizes = {*multiples(batch, whole), *multiples(batch, lcm(step, layout.mini))}
    if layout.written_mini is None:  # the mini batch follows the batch up to 16 prompts
        sizes |= {size for size in range(1, min(batch, 2 * step) + 1) if size % step == 0}
    both = [(mini, size) for mini in multiples(min(layout.mini, batch), step) for size in multiples(batch, mini)]
    yield from ({"batch": size} for size in sizes if most is None or size <= most)
    yield from ({"batch": size, "mini": mini} for mini, size in both if most is None or size <= most)


@rule(BATCH_RULES, "ARL230", "Mini batch that can't be split evenly over the devices", "error")
def whole_mini_batches(facts: Facts) -> Iterator[Problem]:
    """A mini batch of verl is `ppo_mini_batch_size` x `rollout_n` samples, an equal part for each device.

    So the devices (`num_gpus_per_node` x `nnodes`) must divide that product. verl 0.9.1 looks at it only when the
    first update begins, after a whole rollout. Left out, the mini batch is min(16, `train_batch_size`).
    """
    if facts["train_backend"] != "verl" or not trains(facts):
        return
    layout = layout_of(facts)
    if layout.mini > layout.batch or _even_mini_batch(layout):  # ARL204 speaks of a mini batch above the batch
        return
    keys = KEYS["verl"]
    samples = layout.mini * layout.group
    message = f"{_mini(facts, layout)} x {told(facts, keys['group'])} = {show(samples)} samples can't be split "
    message += f"evenly over {show(layout.ranks)} devices; verl stops at its first update"
    fields = ("mini", "batch", "group", "devices_per_node", "nodes")
    written = next((keys[field] for field in fields if facts.wrote(keys[field])), None)
    severity: Severity | None = None if written else "warning"
    changes = nearest(layout, _candidates(layout), accepted)
    yield Problem(written or keys["batch"], message, _hint(layout, changes), severity)


@rule(BATCH_RULES, "ARL231", "Batch that is filled up with empty samples", "warning")
def filled_up(facts: Facts) -> Iterator[Problem]:
    """The samples of a step are filled up with empty ones, by verl 0.9.1, until its mini batches are whole.

    The empty samples cost time, and the updates of the step differ in how much they learn from; a `train_batch_size`
    that is a multiple of `ppo_mini_batch_size` has neither fault. Only the newer of verl's two trainers fills up
    (`trainer/ppo/v1`, with `upsample_batch_to_divisible_size`). The older one, `ray_trainer.py`, stops at such a batch
    in `make_iterator`; versions before the two divided it into mini batches of which the last was smaller.
    """
    if facts["train_backend"] != "verl" or not trains(facts):
        return
    layout = layout_of(facts)
    if layout.mini > layout.batch or layout.batch % layout.mini == 0 or not _even_mini_batch(layout):
        return
    keys = KEYS["verl"]
    filled = -layout.batch % layout.mini * layout.group
    message = f"{show(layout.batch)} prompts are no multiple of {_mini(facts, layout)}: verl fills "
    message += f"each step up with {show(filled)} empty samples"
    changes = nearest(layout, _candidates(layout), accepted)
    severity: Severity = "warning" if facts.wrote(keys["mini"]) else "note"
    yield Problem(keys["batch"], message, _hint(layout, changes), severity)


@rule(DATA_RULES, "ARL232", "Data set smaller than a batch", "error")
def enough_rows(facts: Facts) -> Iterator[Problem]:
    """An incomplete batch at the end of an epoch is dropped, so a data set below one batch gives not one step.

    `train_batch_size` counts prompts, one a row of `train_files`. Lower it, or add rows. A `val_batch_size` above the
    validation set is harmless: there the last batch may be incomplete.

    MindSpeed-RL (master, 05a90d7, `_build_index_mappings`) takes the rows of `data_path` again and again until they are
    enough for `train_iters` steps of `global_batch_size` prompts. So a step has some prompts twice, which is a warning.
    """
    backend = facts["train_backend"]
    if not trains(facts):
        return
    rows, layout = facts["@train.rows"], layout_of(facts)
    if rows >= layout.batch:
        return
    key = KEYS[backend]["batch"]
    count = f"{show(rows)} row" if rows == 1 else f"{show(rows)} rows"
    if backend == "mindspeed_rl":
        message = f"{show(layout.batch)} prompts{origin(facts, key)}, but data_path has {count}: "
        message += "MindSpeed-RL takes rows again to fill a step"
        hint = f"data_path with at least {show(layout.batch)} rows, or a smaller global_batch_size"
        yield Problem(key, message, "\n".join([hint, *table(layout)]), "warning")
        return
    message = f"{show(layout.batch)} prompts{origin(facts, key)}, but train_files has {count}; "
    message += "incomplete batches are dropped, so there is not one step"
    more = f"train_files with at least {show(layout.batch)} rows"
    changes = nearest(layout, _candidates(layout, rows), accepted) if rows else []
    hint = f"{remedy(layout, changes)}; or {more}" if changes else more
    yield Problem(key, message, "\n".join([hint, *table(layout)]))
