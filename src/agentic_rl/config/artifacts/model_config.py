"""`config.json` of a model folder: the sizes that rules need."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentic_rl.config.artifacts.folder import Folder
from agentic_rl.config.artifacts.json_file import NotUsableError, read_object
from agentic_rl.config.artifacts.model_kind import check_quantized, check_task
from agentic_rl.config.artifacts.model_size import parameters
from agentic_rl.config.artifacts.pages import (
    BAD_CONFIG,
    BAD_CONFIG_VALUE,
    NO_ARCHITECTURE,
    NO_CONFIG,
    finding,
)
from agentic_rl.config.artifacts.result import Artifacts
from agentic_rl.config.fields.wording import show

NAME = "config.json"
MAX_BYTES = 1 << 22
SIZES = {
    "num_hidden_layers": ("num_hidden_layers", "n_layer", "num_layers"),
    "hidden_size": ("hidden_size", "n_embd", "d_model"),
    "num_attention_heads": ("num_attention_heads", "n_head"),
    "num_key_value_heads": ("num_key_value_heads",),
    "head_dim": ("head_dim",),
    "intermediate_size": ("intermediate_size", "n_inner", "ffn_dim"),
    "vocab_size": ("vocab_size",),
    "max_position_embeddings": ("max_position_embeddings", "n_positions", "seq_length"),
    "num_experts": ("num_experts", "num_local_experts", "n_routed_experts"),
    "moe_intermediate_size": ("moe_intermediate_size",),
}
"""Fact -> the names under which architectures keep it."""

_UNSCALED = frozenset({"default", "llama3", "longrope", "su", "mrope", "proportional"})
"""Ways to stretch positions whose result `max_position_embeddings` already states."""


def read_config(folder: Folder, key: str, *, required: bool, learns: bool) -> Artifacts:
    """Facts `@model.*` of `folder`, and what is wrong with its `config.json`.

    `required` where its weights are read, `learns` where they are trained too.
    """
    path = f"{folder.path}/{NAME}"
    if NAME not in folder.files():
        missing = finding(NO_CONFIG, key, f"{path} is missing; a model folder has one", "name the model's own folder")
        return Artifacts(findings=[missing] if required else [])
    try:
        tree = read_object(folder, NAME, MAX_BYTES)
    except NotUsableError as error:
        return Artifacts(findings=[finding(BAD_CONFIG, key, f"{path} {error}", "fetch config.json again")])
    result = _facts(tree, path, key)
    result.findings += check_task(tree.get("architectures"), path, key, trained=required)
    if required and learns:
        result.findings += check_quantized(tree, path, key)
    return result


def _facts(tree: dict[str, Any], path: str, key: str) -> Artifacts:
    text = tree.get("text_config")
    merged = {**tree, **text} if isinstance(text, dict) else tree
    result = Artifacts()
    sizes = _sizes(merged, path, key, result)
    sizes = _completed(sizes, merged)
    heads, shared = sizes.get("num_attention_heads"), sizes.get("num_key_value_heads")
    if heads and shared and heads % shared:
        message = f"{path}: num_attention_heads is {heads}, no multiple of num_key_value_heads, {shared}"
        result.findings.append(finding(BAD_CONFIG_VALUE, key, message, "fetch config.json again"))
    facts: dict[str, Any] = {**sizes, **_names(tree, merged, path, key, result)}
    facts["tie_word_embeddings"] = _tied(tree, merged)
    count = parameters(facts, merged)
    facts.update({"parameters": count} if count else {})
    result.facts = {f"@model.{name}": value for name, value in facts.items()}
    return result


def _sizes(merged: Mapping[str, Any], path: str, key: str, result: Artifacts) -> dict[str, int]:
    sizes = {}
    for fact, names in SIZES.items():
        name = next((name for name in names if merged.get(name) is not None), None)
        if name is None:
            continue
        value = merged[name]
        if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 2**40:
            sizes[fact] = value
        elif not (fact == "num_experts" and value == 0):
            message = f"{path}: {name} is {show(value)}; it must be a whole number above 0"
            result.findings.append(finding(BAD_CONFIG_VALUE, key, message, "fetch config.json again"))
    return sizes


def _completed(sizes: dict[str, int], merged: Mapping[str, Any]) -> dict[str, int]:
    """The sizes with those that architectures derive from others, and the context with its scaling."""
    heads, hidden = sizes.get("num_attention_heads"), sizes.get("hidden_size")
    if heads and merged.get("num_key_value_heads") is None:
        sizes["num_key_value_heads"] = heads
    if heads and hidden and "head_dim" not in sizes and hidden >= heads:
        sizes["head_dim"] = hidden // heads
    if sizes.get("num_experts") == 1:
        del sizes["num_experts"]
    if "max_position_embeddings" in sizes:
        sizes["max_position_embeddings"] = _context(sizes["max_position_embeddings"], merged)
    return sizes


def _context(positions: int, merged: Mapping[str, Any]) -> int:
    """The longest sequence as vLLM derives it: with yarn the original positions times the factor."""
    scaling = merged.get("rope_scaling") or merged.get("rope_parameters")
    if not isinstance(scaling, dict):
        return positions
    kind = scaling.get("rope_type", scaling.get("type", "default"))
    factor = scaling.get("factor", 1.0)
    known = isinstance(factor, (int, float)) and not isinstance(factor, bool) and 1 <= factor < 1e6
    if not isinstance(kind, str) or kind in _UNSCALED or not known:
        return positions
    original = scaling.get("original_max_position_embeddings")
    if kind == "yarn" and isinstance(original, int) and original > 0:
        positions = original
    return int(positions * factor)


def _names(
    tree: Mapping[str, Any], merged: Mapping[str, Any], path: str, key: str, result: Artifacts
) -> dict[str, str]:
    """Architecture, type of model and number format. The outer level names the whole model, not its text part."""
    names = {}
    architectures = tree.get("architectures")
    if isinstance(architectures, list) and architectures and isinstance(architectures[0], str):
        names["architecture"] = architectures[0]
    if isinstance(tree.get("model_type"), str) and tree["model_type"]:
        names["model_type"] = tree["model_type"]
    number_format = merged.get("torch_dtype") or merged.get("dtype")
    if isinstance(number_format, str):
        names["torch_dtype"] = number_format.removeprefix("torch.")
    for name, written in (("architecture", "architectures"), ("model_type", "model_type")):
        if name not in names:
            message = f"{path}: {written} is {show(tree.get(written))}; it must name what to build"
            hint = '"architectures": ["Qwen2ForCausalLM"], for example' if name == "architecture" else ""
            result.findings.append(finding(NO_ARCHITECTURE, key, message, hint or '"model_type": "qwen2", for example'))
    return names


def _tied(tree: Mapping[str, Any], merged: Mapping[str, Any]) -> bool:
    """Whether input and output embeddings are one matrix; what is not written is the architecture's own default."""
    written = merged.get("tie_word_embeddings", tree.get("tie_word_embeddings"))
    return written if isinstance(written, bool) else str(merged.get("model_type", "")).startswith("gemma")
