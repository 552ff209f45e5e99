"""What several rules ask of the facts: the chosen section's keys, devices, steps, and what came from a default."""

from __future__ import annotations

from collections.abc import Iterable

from agentic_rl.config.fields.wording import show
from agentic_rl.config.flat.names import LEVELS, dotted
from agentic_rl.config.rules import Facts


def key_of(facts: Facts, name: str) -> str:
    """The dotted key of `name` for the chosen backend: in its section, else at the shared level."""
    backend = facts["train_backend"]
    return dotted(backend, name) if name in LEVELS[backend] else name


def origin(facts: Facts, key: str) -> str:
    """` (the default)` where nobody wrote `key`; for the finding's own key, whose place tells the rest."""
    return "" if facts.wrote(key) else " (the default)"


def source(facts: Facts, key: str) -> str:
    """Where the value of `key` came from, in parentheses, when it was not the file; for any key that is only named."""
    outside = facts.overridden.get(key)
    return f" (from the {outside})" if outside else origin(facts, key)


def told(facts: Facts, key: str) -> str:
    """`name value`, and where the value came from when it was not the file."""
    return f"{key.rpartition('.')[2]} {show(facts[key])}{source(facts, key)}"


def wrote_any(facts: Facts, keys: Iterable[str]) -> bool:
    """Whether a person wrote one of `keys`; a relation of defaults alone is nobody's mistake."""
    return any(facts.wrote(key) for key in keys)


def trains(facts: Facts) -> bool:
    """Whether the run learns, not only evaluates."""
    return not (facts.get("test_only") or facts.get(key_of(facts, "val_only")))


def nodes_key(facts: Facts) -> str:
    """The key that counts the nodes of the chosen backend."""
    return "verl.nnodes" if facts["train_backend"] == "verl" else "num_node"


def devices(facts: Facts) -> int:
    """Devices of the whole run."""
    return int(facts["num_gpus_per_node"] * facts[nodes_key(facts)])


def devices_told(facts: Facts) -> str:
    """`num_gpus_per_node 4 x nnodes 2 = 8 devices`; without the product where there is one node."""
    per_node, nodes = told(facts, "num_gpus_per_node"), nodes_key(facts)
    return f"{per_node} x {told(facts, nodes)} = {devices(facts)} devices" if facts[nodes] > 1 else per_node


def steps(facts: Facts) -> int:
    """Training steps of a run of verl or `local`.

    Raises:
        MissingFactError: the rows of the training data are needed, but not known.
    """
    wanted = facts[key_of(facts, "total_training_steps")]
    if wanted is not None and facts["train_backend"] == "local":
        return int(wanted)
    by_epochs = steps_per_epoch(facts) * int(facts[key_of(facts, "total_epochs")])
    return by_epochs if wanted is None else min(by_epochs, int(wanted))


def steps_per_epoch(facts: Facts) -> int:
    """Whole batches of the training data; an incomplete one is dropped.

    Raises:
        MissingFactError: the rows of the training data are not known.
    """
    return int(facts["@train.rows"] // facts[key_of(facts, "train_batch_size")])
