"""Single values that depend on the backend, and exceptions from documented ranges (ARL11x)."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches

from agentic_rl.config.fields.wording import show
from agentic_rl.config.rules import Facts, Problem, Rule, rule

BACKEND_RULES: list[Rule] = []

DOCUMENTED_MODELS = ("qwen3-8b", "qwen2.5-7b")
RELEASED_MODELS = ("qwen3-0.6b", "qwen3-4b", "qwen3-30b-a3b", "qwen3-32b", "qwen3-235b-a22b")
MIXTURES = ("qwen3-30b-a3b", "qwen3-235b-a22b")
"""Those of them that are mixtures of experts."""


@rule(BACKEND_RULES, "ARL110", "Model of mindspeed_rl", "error")
def model_name(facts: Facts) -> Iterator[Problem]:
    """MindSpeed-RL has a training script for each architecture, named by `model_name`.

    The documentation names `qwen3-8b` and `qwen2.5-7b`. Models released since are accepted with a warning.
    """
    name = facts["model_name"]
    if facts["train_backend"] != "mindspeed_rl" or name is None or name in DOCUMENTED_MODELS:
        return
    documented = " or ".join(DOCUMENTED_MODELS)
    if name in RELEASED_MODELS:
        message = f"{name} was released after the documentation, which names {documented}"
        yield Problem("model_name", message, severity="warning")
        return
    near = get_close_matches(name.lower(), DOCUMENTED_MODELS + RELEASED_MODELS, n=1)
    hint = f"model_name: {near[0] if near else DOCUMENTED_MODELS[0]}"
    yield Problem("model_name", f"mindspeed_rl can't train {show(name)}; it must be {documented}", hint)


@rule(BACKEND_RULES, "ARL111", "min_p turned off", "warning")
def min_p_off(facts: Facts) -> Iterator[Problem]:
    """The documented range of `min_p` is (0, 1]. Public configurations write 0.0 to turn it off, and engines agree."""
    if facts["min_p"] == 0:
        yield Problem("min_p", "0 is outside the documented range (0, 1]; it turns min_p off", "min_p: 0.01")


@rule(BACKEND_RULES, "ARL112", "top_k below -1", "error")
def top_k_range(facts: Facts) -> Iterator[Problem]:
    """Engines take -1 or 0 for no limit, or a number of tokens; vLLM refuses anything else."""
    if facts["top_k"] < -1:
        message = f"{show(facts['top_k'])} is no number of tokens; it must be -1 or 0 (no limit), or at least 1"
        yield Problem("top_k", message, "top_k: -1")


@rule(BACKEND_RULES, "ARL113", "Number format of mindspeed_rl", "error")
def dtype_of_mindspeed(facts: Facts) -> Iterator[Problem]:
    """The documentation lists `float16`, but MindSpeed-RL's own check accepts `bfloat16` only."""
    if facts["train_backend"] == "mindspeed_rl" and facts["dtype"] != "bfloat16":
        yield Problem(
            "dtype", f"{facts['dtype']} is refused by MindSpeed-RL, which runs bfloat16 only", "dtype: bfloat16"
        )


@rule(BACKEND_RULES, "ARL114", "KL estimator that the backend lacks", "error")
def kl_penalty_full(facts: Facts) -> Iterator[Problem]:
    """`full` needs the whole distribution of every token. MindSpeed-RL has no such estimator."""
    if facts["train_backend"] == "mindspeed_rl" and facts["kl_penalty"] == "full":
        message = "MindSpeed-RL has no estimator full; it must be one of kl, abs, mse, low_var_kl"
        yield Problem("kl_penalty", message, "kl_penalty: low_var_kl")


@rule(BACKEND_RULES, "ARL115", "Pipeline stages at inference", "error")
def inference_pipeline(facts: Facts) -> Iterator[Problem]:
    """MindSpeed-RL refuses more than one pipeline stage at inference; verl runs with one whatever is written."""
    size = facts["infer_pipeline_parallel_size"]
    if facts["train_backend"] == "mindspeed_rl" and size > 1:
        message = f"{show(size)} stages are refused by MindSpeed-RL; it must be 1"
        yield Problem("infer_pipeline_parallel_size", message, "infer_pipeline_parallel_size: 1")
