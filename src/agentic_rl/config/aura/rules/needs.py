"""Keys that are required only with others (ARL027)."""

from __future__ import annotations

from collections.abc import Iterator

from agentic_rl.config.aura.rules.facts import ENGINE, items, trainings
from agentic_rl.config.fields.pages import MISSING
from agentic_rl.config.rules import Facts, Problem, Rule

_OF_VERL = {
    "data.train_files": "the parquet file with the tasks to train on",
    "data.val_files": "the parquet file with the tasks to evaluate on",
    "actor_rollout_ref.model.path": "the folder of the model to train",
}
_WITHOUT_CONFIG = ("dummy_train",)
_OTHER = {"verl_conf": "megatron_training", "msrl_conf": "actor_rollout_ref"}
"""Section -> a key that only the other engine's configuration has."""


def missing(facts: Facts) -> Iterator[Problem]:
    """`serve_conf` in serve mode, a train instance's configuration, verl's files, addresses of a server."""
    if str(facts["agentic_ai.mode"]) in ("serve", "direct_with_serve") and facts.get("serve_conf", 0) is None:
        yield Problem("serve_conf", "required in serve mode, but nobody wrote it", "serve_conf:\n  port: 8030")
    yield from _configurations(facts)
    for node in dict.fromkeys(one.native for one in trainings(facts) if one.native):
        yield from (
            Problem(f"{node}.{key}", "required by verl, but nobody wrote it", what)
            for key, what in _OF_VERL.items()
            if facts.get(f"{node}.{key}", "") in (None, "???")
        )
    for one in items(facts, "infer_instances"):
        if facts.get(f"{one}.executor_kwargs.engine") != "vllm_proxy":
            continue
        for name, what in (("chat_server", "http://HOST:PORT"), ("model_name", "the name that the server gives it")):
            key = f"{one}.{ENGINE}.{name}"
            if facts.get(key, 0) is None:
                yield Problem(key, "required with engine vllm_proxy, but nobody wrote it", f"{name}: {what}")


def _configurations(facts: Facts) -> Iterator[Problem]:
    for one in trainings(facts):
        kwargs = f"{one.instance}.executor_kwargs"
        section = "verl_conf" if one.engine == "verl" else "msrl_conf"
        hint = f"train_config: ${{{section}}}"
        given = facts.get(f"{kwargs}.train_config", 0)
        if isinstance(given, dict) and _OTHER[section] in given:
            message = f"the configuration of another engine: train_engine is {one.engine}"
            yield Problem(f"{kwargs}.train_config", message, hint)
        if facts.get(f"{kwargs}.cluster_mode") in _WITHOUT_CONFIG or given is not None:
            continue
        yield Problem(f"{kwargs}.train_config", f"required with train_engine {one.engine}, but nobody wrote it", hint)


NEEDS = [Rule(MISSING, missing)]
