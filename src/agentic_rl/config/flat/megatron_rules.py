"""The sizes of a Megatron checkpoint against those of the run (ARL464)."""

from __future__ import annotations

from collections.abc import Iterator

from agentic_rl.config.fields.wording import show
from agentic_rl.config.flat.in_force import origin
from agentic_rl.config.rules import Facts, Problem, Rule, rule

MEGATRON_RULES: list[Rule] = []
_SIZES = (
    ("tensor_model_parallel_size", "@load.tensor_parallel", "tensor ranks"),
    ("pipeline_model_parallel_size", "@load.pipeline_parallel", "pipeline stages"),
)


@rule(MEGATRON_RULES, "ARL464", "Checkpoint for other parallel sizes", "error")
def parallel_sizes(facts: Facts) -> Iterator[Problem]:
    """Weights in Megatron's format are split for one tensor and one pipeline size, as the names `mp_rank_TT_PPP` show.

    A run of other sizes looks for folders that are not there, or reads parts of matrices for whole ones. Write the
    sizes of the checkpoint, or convert the model again for those of the run.
    """
    if facts["train_backend"] != "mindspeed_rl":
        return
    for name, fact, words in _SIZES:
        key = f"mindspeed_rl.{name}"
        size, found = facts[key], facts[fact]
        if size != found:
            message = f"{show(size)}{origin(facts, key)}, but "
            message += f"{facts['mindspeed_rl.load_params_path']} holds {show(found)} {words}"
            hint = f"{name}: {show(found)}, or convert the model for {show(size)}"
            yield Problem(key if facts.wrote(key) else "mindspeed_rl.load_params_path", message, hint)
