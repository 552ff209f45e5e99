"""How many parameters a decoder of known sizes has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_GATED = ("qwen", "llama", "mistral", "mixtral", "gemma", "olmo", "glm", "phi3", "internlm", "minicpm", "deepseek")
"""Types of models whose feed-forward part has three matrices (gate, up, down)."""


def parameters(facts: Mapping[str, Any], config: Mapping[str, Any]) -> int | None:
    """The number of parameters, norms and biases left out (below 0.1%); None for architectures of another build.

    Per layer: attention hidden x heads x head_dim for queries and for the output, hidden x kv_heads x head_dim for
    keys and for values; three matrices hidden x intermediate, for a mixture once per expert and a router.
    """
    known = str(config.get("model_type", facts.get("model_type", ""))).startswith(_GATED)
    if not known or config.get("kv_lora_rank") or "linear_attention" in _listed(config.get("layer_types")):
        return None
    try:
        hidden, head = facts["hidden_size"], facts["head_dim"]
        queries, shared = facts["num_attention_heads"] * head, facts["num_key_value_heads"] * head
        layer = 2 * hidden * queries + 2 * hidden * shared
        embeddings = facts["vocab_size"] * hidden * (1 if facts["tie_word_embeddings"] else 2)
        layers = facts["num_hidden_layers"]
        return int(embeddings + layers * layer + _feed_forward(facts, config, layers))
    except KeyError:
        return None


def _feed_forward(facts: Mapping[str, Any], config: Mapping[str, Any], layers: int) -> int:
    """The feed-forward parts of all layers.

    Raises:
        KeyError: a size is not known.
    """
    hidden = facts["hidden_size"]
    experts = facts.get("num_experts")
    if not experts:
        return int(layers * 3 * hidden * facts["intermediate_size"])
    width = facts.get("moe_intermediate_size") or facts["intermediate_size"]
    shared = config.get("shared_expert_intermediate_size") or width * _count(config.get("n_shared_experts"))
    mixture = experts * (3 * hidden * width + hidden) + 3 * hidden * _count(shared)
    dense = min(layers, _count(config.get("first_k_dense_replace")) or len(_listed(config.get("mlp_only_layers"))))
    plain = dense * 3 * hidden * facts["intermediate_size"] if dense else 0
    return int((layers - dense) * mixture + plain)


def _count(value: Any) -> int:
    return value if isinstance(value, int) and value > 0 else 0


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
