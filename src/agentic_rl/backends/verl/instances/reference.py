"""The page that says what becomes of each documented key of the instances format on verl, made from the tables.

`python -m agentic_rl.backends.verl.instances.reference > docs/reference/instances-on-verl.md` writes it; a test
compares the two.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from agentic_rl.backends.verl.instances.agents import ENVIRONMENT, FURTHER, PARAMETERS
from agentic_rl.backends.verl.instances.effects import AGENT, INFER, NOT_READ, TRAIN, Kind

_INTRODUCTION = """# The instances format on verl

<!-- Made from the tables by `python -m agentic_rl.backends.verl.instances.reference`; do not edit. -->

What becomes of each documented key in a run of verl. `agentic-rl render --config-path FILE` prints the whole
configuration that verl reads. Keys without effect draw the finding ARL551 where a file sets them to anything."""

_WORDS: Mapping[Kind, str] = {
    "native": "set in verl's configuration",
    "adapter": "obeyed by the adapter",
    "reference": "a name",
    "mode": "read by another mode",
    "none": "without effect",
}


def render() -> str:
    """The page in Markdown."""
    return "\n".join([_INTRODUCTION, *_conf(), *_instances()])


def _conf() -> Iterator[str]:
    yield from ("", "## `verl_conf`", "")
    yield "Every key is verl's own and arrives under the same name, whether it is documented or not. Except:"
    yield from ("", "| Key | What becomes of it |", "|---|---|")
    yield "| `extras` | names the services; no key of verl |"
    yield "| `trainer.device` | `gpu` is `cuda` there |"
    yield "| `trainer.default_local_dir` | the run's folder; left out, `checkpoints/<project_name>/<experiment_name>` |"
    yield "| `trainer.max_actor_ckpt_to_keep` | counted by the adapter, over all starts of the run |"
    yield "| `actor_rollout_ref.rollout.agent.agent_loop_manager_class` | a class of `aura` is this package's own |"
    for key, why in NOT_READ.items():
        yield f"| `{key}` | `false` is without effect: {why} |"


def _instances() -> Iterator[str]:
    tables = (("train_instances", TRAIN), ("agent_instances", AGENT), ("infer_instances", INFER))
    for section, table in tables:
        yield from ("", f"## `{section}`", "", "| Key | On verl | |", "|---|---|---|")
        for key, (kind, note) in table.items():
            yield f"| `{key}` | {_WORDS[kind]} | {note} |"
    yield from ("", "Further keys of `agent_engine_kwargs` that have an effect: " + _names(FURTHER) + ".")
    yield f"Of `env_args`: {_names(ENVIRONMENT)}. Of `infer_service_params`: {_names(PARAMETERS)}."


def _names(names: Mapping[str, str] | tuple[str, ...]) -> str:
    return ", ".join(f"`{name}`" for name in names)


if __name__ == "__main__":
    print(render())
