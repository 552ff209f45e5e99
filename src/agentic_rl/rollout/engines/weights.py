"""A model's weights in the form that the engine computes with.

The layers' linear maps are copied: queries, keys and values in one matrix, gate and up in one, the norm before each
folded into it, and the two numbers of a rotated pair side by side. Embedding and output head are read where the model
has them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import sqrt
from typing import Any

import torch
from torch import Tensor, nn

_MODELS = ("Qwen2ForCausalLM", "Qwen3ForCausalLM", "LlamaForCausalLM")
_ROPE_TYPES = ("default", "llama3", "linear", "yarn")  # frequencies that don't change with the length


def supports(model: Any) -> bool:
    """Whether the ragged engine computes this model's forward; the reasons against it are those tested here."""
    config = getattr(model, "config", None)
    if type(model).__name__ not in _MODELS or not type(model).__module__.startswith("transformers."):
        return False
    rope = getattr(config, "rope_parameters", None) or {}
    layer_types = getattr(config, "layer_types", None) or []
    linears = [m for name, m in model.named_modules() if name.endswith("_proj")]
    return (
        rope.get("rope_type", "default") in _ROPE_TYPES
        and rope.get("partial_rotary_factor", 1.0) == 1.0
        and all(kind == "full_attention" for kind in layer_types)
        and getattr(config, "hidden_act", "") in ("silu", "swish")
        and all(type(m) is nn.Linear for m in linears)  # adapters and quantised layers compute something else
        and len({(p.dtype, p.device) for p in model.parameters()}) == 1
    )


@dataclass(frozen=True)
class Layer:
    """The weights of one layer; matrices as (in, out)."""

    qkv: Tensor
    qkv_bias: Tensor | None
    qk_norm: Tensor | None
    """Scaled, shape (heads + key-value heads, head size); None without norms of queries and keys."""
    out: Tensor
    out_bias: Tensor | None
    gate_up: Tensor
    gate_up_bias: Tensor | None
    down: Tensor
    down_bias: Tensor | None


@dataclass(frozen=True)
class Shape:
    """The sizes of a model."""

    layers: int
    heads: int
    kv_heads: int
    head_dim: int
    eps: float

    @classmethod
    def of(cls, model: Any) -> Shape:
        """Read them from a transformers model."""
        c = model.config
        head_dim = getattr(c, "head_dim", None) or c.hidden_size // c.num_attention_heads
        return cls(c.num_hidden_layers, c.num_attention_heads, c.num_key_value_heads, head_dim, c.rms_norm_eps)


def read_layers(model: Any, shape: Shape) -> list[Layer]:
    """Copy the layers' weights from a supported model."""
    return [_read_layer(layer, shape) for layer in model.model.layers]


def _read_layer(layer: Any, shape: Shape) -> Layer:
    attention, mlp = layer.self_attn, layer.mlp
    pairs = _pairs(shape.head_dim)
    qkv = [_rotary_order(attention.q_proj, pairs), _rotary_order(attention.k_proj, pairs)]
    qkv.append((attention.v_proj.weight, attention.v_proj.bias))
    gate_up = [(mlp.gate_proj.weight, mlp.gate_proj.bias), (mlp.up_proj.weight, mlp.up_proj.bias)]
    qk_norm = None
    if hasattr(attention, "q_norm"):
        q, k = attention.q_norm.weight[pairs], attention.k_norm.weight[pairs]
        qk_norm = torch.cat((scaled(q).expand(shape.heads, -1), scaled(k).expand(shape.kv_heads, -1)))
    return Layer(
        *_fuse(qkv, layer.input_layernorm.weight),
        qk_norm,
        attention.o_proj.weight.t().contiguous(),
        _copy(attention.o_proj.bias),
        *_fuse(gate_up, layer.post_attention_layernorm.weight),
        mlp.down_proj.weight.t().contiguous(),
        _copy(mlp.down_proj.bias),
    )


def _pairs(head_dim: int) -> Tensor:
    """The order that puts the two numbers that a rotation mixes, i and i + head_dim / 2, next to each other."""
    return torch.arange(head_dim).view(2, -1).t().flatten()


def _rotary_order(linear: nn.Linear, pairs: Tensor) -> tuple[Tensor, Tensor | None]:
    weight = linear.weight.unflatten(0, (-1, len(pairs)))[:, pairs].flatten(0, 1)
    bias = linear.bias
    return weight, None if bias is None else bias.unflatten(0, (-1, len(pairs)))[:, pairs].flatten()


def _fuse(maps: list[tuple[Tensor, Tensor | None]], norm: Tensor) -> tuple[Tensor, Tensor | None]:
    """One matrix (in, out) of several, for rows of unit length: with the norm's weight and its root of the size."""
    weight = torch.cat([weight for weight, _ in maps]).t() * scaled(norm)[:, None]
    biases = [bias for _, bias in maps if bias is not None]
    return weight.contiguous(), torch.cat(biases) if biases else None


def scaled(norm: Tensor) -> Tensor:
    """The weight of a root-mean-square norm for what was divided by its length instead."""
    return norm * sqrt(len(norm))


def _copy(tensor: Tensor | None) -> Tensor | None:
    return None if tensor is None else tensor.detach().clone()


def versions(parameters: Iterable[Tensor]) -> list[int]:
    """A mark that changes when a parameter is written to, unless by a fused optimizer or through `.data`."""
    return [p._version for p in parameters]


def rotations(model: Any, length: int) -> Tensor:
    """The rotary embedding as complex numbers, shape (length, 1, head size / 2)."""
    rotary = model.model.rotary_emb
    angles = torch.arange(length, device=rotary.inv_freq.device)[:, None] * rotary.inv_freq.float()
    return torch.polar(torch.full_like(angles, float(rotary.attention_scaling)), angles)[:, None]
