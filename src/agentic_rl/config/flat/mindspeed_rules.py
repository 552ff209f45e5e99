"""The batch algebra that MindSpeed-RL itself checks before it starts (ARL220 to ARL224)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import gcd, lcm

from agentic_rl.config.diagnostics import Severity
from agentic_rl.config.fields.wording import show
from agentic_rl.config.flat.batches import KEYS, Layout, layout_of, table
from agentic_rl.config.flat.in_force import origin, told
from agentic_rl.config.flat.nearest import Change, changed, divisors, multiples, nearest, remedy
from agentic_rl.config.rules import Facts, Problem, Rule, rule

MINDSPEED_RULES: list[Rule] = []

_KEYS = KEYS["mindspeed_rl"]
_MODEL_PARALLEL = ("tensor", "pipeline", "devices_per_node", "nodes")


def accepted(layout: Layout) -> bool:
    """Whether MindSpeed-RL's own check (validate_config.py of its master branch) lets the sizes pass."""
    if not (layout.ranks and layout.engines) or layout.batch % _step(layout, whole=False):
        return False
    return _whole_micro_batches(layout) and _whole_dispatches(layout)


def _step(layout: Layout, *, whole: bool = True) -> int:
    """What the batch must be a multiple of; with `whole` also so that micro batches and dispatches come out even."""
    step = lcm(layout.ranks, layout.engines, layout.nodes)
    if whole:
        micro, dispatch = layout.micro or 1, layout.dispatch or 1
        step = lcm(step, layout.ranks * micro // gcd(micro, layout.group))
        step = lcm(step, layout.engines * dispatch // gcd(dispatch, layout.group))
    return step


def _whole_micro_batches(layout: Layout) -> bool:
    return layout.batch // layout.ranks * layout.group % (layout.micro or 1) == 0


def _whole_dispatches(layout: Layout) -> bool:
    return layout.batch // layout.engines * layout.group % (layout.dispatch or 1) == 0


def _sound_parts(facts: Facts) -> Layout | None:
    """The layout, where its ranks and engines are whole; the batch rules have nothing to say about others."""
    if facts["train_backend"] != "mindspeed_rl":
        return None
    layout = layout_of(facts)
    return layout if layout.ranks and layout.engines else None


def _problem(facts: Facts, fields: Iterable[str], message: str, changes: Iterable[Change]) -> Problem:
    """The problem at the first written one of `fields`; only a warning where nobody wrote any of them."""
    keys = [_KEYS[field] for field in fields]
    key = next(filter(facts.wrote, keys), None)
    layout = layout_of(facts)
    hint = "\n".join([remedy(layout, changes) or "see the table", *table(layout)])
    severity: Severity | None = None if key else "warning"
    return Problem(key or keys[0], message, hint, severity)


def _told(facts: Facts, field: str) -> str:
    return told(facts, _KEYS[field])


def _list(words: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(words[:-1]), words[-1]]))


def _with_batches(layout: Layout, changes: Iterable[Change]) -> Iterator[Change]:
    """Each change, and each with the nearest batches that go with it."""
    for change in changes:
        yield change
        after = changed(layout, change)
        if after.ranks and after.engines:
            for batch in multiples(after.batch, _step(after)):
                yield {**change, "batch": batch}


@rule(MINDSPEED_RULES, "ARL220", "Devices that do not make whole training ranks", "error")
def training_ranks(facts: Facts) -> Iterator[Problem]:
    """Tensor parallelism times pipeline stages must divide the devices: each data-parallel rank takes that many.

    MindSpeed-RL refuses anything else before it starts. Devices are `num_gpus_per_node` times `num_node`.
    """
    if facts["train_backend"] != "mindspeed_rl":
        return
    layout = layout_of(facts)
    if layout.ranks:
        return
    share = f"{_told(facts, 'tensor')} x {_told(facts, 'pipeline')}"
    message = f"{share} does not divide {show(layout.devices)} devices; each training rank takes that many devices"
    changes = [
        *({"tensor": size} for size in divisors(layout.devices, layout.tensor)),
        *({"pipeline": size} for size in divisors(layout.devices, layout.pipeline)),
        *({"tensor": size, "pipeline": 1} for size in divisors(layout.devices, layout.tensor)),
    ]
    good = nearest(layout, _with_batches(layout, changes), accepted)
    yield _problem(facts, _MODEL_PARALLEL, message, good or nearest(layout, changes, lambda one: one.ranks > 0))


@rule(MINDSPEED_RULES, "ARL221", "Devices too few for one inference engine", "error")
def inference_engines(facts: Facts) -> Iterator[Problem]:
    """An inference engine takes `infer_tensor_parallel_size` devices; with fewer there is no engine at all.

    MindSpeed-RL then stops with a division by zero before it starts.
    """
    if facts["train_backend"] != "mindspeed_rl":
        return
    layout = layout_of(facts)
    if layout.engines:
        return
    fields = ("inference_tensor", "devices_per_node", "nodes")
    message = f"{_told(facts, 'inference_tensor')} devices for one inference engine, but there are only "
    message += f"{show(layout.devices)} devices"
    changes = [{"inference_tensor": size} for size in divisors(layout.devices, layout.inference_tensor)]
    good = nearest(layout, _with_batches(layout, changes), accepted)
    yield _problem(facts, fields, message, good or nearest(layout, changes, lambda one: one.engines > 0))


@rule(MINDSPEED_RULES, "ARL222", "Batch that can't be split evenly", "error")
def whole_batches(facts: Facts) -> Iterator[Problem]:
    """`global_batch_size` counts prompts. Training ranks, inference engines and nodes each take an equal part of them.

    So the number of ranks (devices / tensor parallelism / pipeline stages), the number of engines (devices / inference
    tensor parallelism) and the number of nodes must divide it; MindSpeed-RL refuses anything else.
    """
    layout = _sound_parts(facts)
    if layout is None or layout.batch % _step(layout, whole=False) == 0:
        return
    parts = {"data-parallel ranks": layout.ranks, "inference engines": layout.engines, "nodes": layout.nodes}
    uneven = [f"{show(size)} {what}" for what, size in parts.items() if layout.batch % size]
    message = (
        f"{show(layout.batch)} prompts{origin(facts, _KEYS['batch'])} can't be split evenly over {_list(uneven)}; "
    )
    message += f"it must be a multiple of {show(_step(layout, whole=False))}"
    changes = _with_batches(layout, [{}])
    fields = ("batch", *_MODEL_PARALLEL, "inference_tensor")
    yield _problem(facts, fields, message, nearest(layout, changes, accepted))


@rule(MINDSPEED_RULES, "ARL223", "Micro batches that do not fill a rank's share", "error")
def whole_micro_batches(facts: Facts) -> Iterator[Problem]:
    """`micro_batch_size` counts samples of one rank; it must divide the samples that a rank gets of the batch.

    These are `global_batch_size` / ranks x `rollout_n`. MindSpeed-RL refuses anything else.
    """
    layout = _sound_parts(facts)
    if layout is None or layout.batch % layout.ranks or _whole_micro_batches(layout):
        return
    samples = layout.batch // layout.ranks * layout.group
    message = f"{_told(facts, 'micro')} samples does not divide the {show(samples)} samples of a rank "
    message += f"({_told(facts, 'batch')} / {show(layout.ranks)} ranks x {_told(facts, 'group')})"
    changes = [{"micro": size} for size in divisors(samples, layout.micro or 1)]
    fields = ("micro", "batch", "group", *_MODEL_PARALLEL)
    yield _problem(facts, fields, message, _nearest_parts(layout, "micro", changes))


@rule(MINDSPEED_RULES, "ARL224", "Dispatches that do not fill an engine's share", "error")
def whole_dispatches(facts: Facts) -> Iterator[Problem]:
    """`actor_rollout_dispatch_size` counts samples; it must divide the samples that an inference engine gets.

    These are `global_batch_size` / engines x `rollout_n`. Left out, it is all of them at once, which always fits; the
    released default, 2, does not fit an odd number.
    """
    layout = _sound_parts(facts)
    if layout is None or layout.batch % layout.engines or _whole_dispatches(layout):
        return
    samples = layout.batch // layout.engines * layout.group
    message = f"{_told(facts, 'dispatch')} samples does not divide the {show(samples)} samples of an inference engine "
    message += f"({_told(facts, 'batch')} / {show(layout.engines)} engines x {_told(facts, 'group')})"
    changes = [{"dispatch": size} for size in divisors(samples, layout.dispatch or 1)]
    yield _problem(facts, ("dispatch",), message, _nearest_parts(layout, "dispatch", changes))


def _nearest_parts(layout: Layout, field: str, changes: Sequence[Change]) -> list[Change]:
    """Sizes of a part that fit; where something else is wrong, too, those that at least mend this."""
    mends = _whole_micro_batches if field == "micro" else _whole_dispatches
    return nearest(layout, _with_batches(layout, changes), accepted) or nearest(layout, changes, mends)
