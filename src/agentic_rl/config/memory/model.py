"""The sizes of a model that an estimate needs."""

from __future__ import annotations

from dataclasses import dataclass

from agentic_rl.config.memory.lookup import Lookup

_NEEDED = (
    "num_hidden_layers",
    "hidden_size",
    "num_attention_heads",
    "intermediate_size",
    "vocab_size",
    "parameters",
)
_NORMED = ("qwen3", "qwen3_moe")
_SHARING = ("llama", "qwen2", "qwen3")


@dataclass(frozen=True)
class ModelSizes:
    """Sizes of a decoder of Llama's kind."""

    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    intermediate: int
    vocabulary: int
    tied: bool
    """The head is the embedding."""
    parameters: int
    model_type: str = ""

    @staticmethod
    def missing(facts: Lookup) -> list[str]:
        """The needed sizes that are not known, by their names in `config.json`; `parameters` follows from the rest."""
        known = ((name, facts.get(f"@model.{name}")) for name in _NEEDED)
        return [name for name, value in known if not (isinstance(value, int) and value > 0)]

    @classmethod
    def of(cls, facts: Lookup) -> ModelSizes | None:
        """From facts by keys `@model...`; None where one that is needed is missing or no positive number."""
        if cls.missing(facts):
            return None
        layers, hidden, heads, intermediate, vocabulary, parameters = (facts[f"@model.{name}"] for name in _NEEDED)
        return cls(
            layers=layers,
            hidden=hidden,
            heads=heads,
            kv_heads=facts.get("@model.num_key_value_heads") or heads,
            head_dim=facts.get("@model.head_dim") or max(1, hidden // heads),
            intermediate=intermediate,
            vocabulary=vocabulary,
            tied=bool(facts.get("@model.tie_word_embeddings")),
            parameters=parameters,
            model_type=str(facts.get("@model.model_type") or ""),
        )

    @property
    def queries(self) -> int:
        """Width of all query heads together."""
        return self.heads * self.head_dim

    @property
    def keys(self) -> int:
        """Width of all key heads together; that of the values too."""
        return self.kv_heads * self.head_dim

    @property
    def embedding(self) -> int:
        """Parameters of the embedding."""
        return self.vocabulary * self.hidden

    @property
    def in_layers(self) -> int:
        """Parameters of the layers: all but embedding and head."""
        return max(0, self.parameters - self.embedding * (2 - self.tied))

    @property
    def replicated_activations(self) -> int:
        """Numbers a token that the norms of one layer keep for its gradient.

        Two norms, each with its input, the normalised input and the result.
        """
        return 6 * self.hidden

    @property
    def split_activations(self) -> int:
        """Numbers a token that attention and feed-forward part of one layer keep for its gradient.

        Attention: queries, keys, values and its result; where queries and keys are normed also both before the norm
        and before its weight. Feed-forward: gate, its activation, up, their product.
        """
        normed = 2 * (self.queries + self.keys) if self.model_type in _NORMED else 0
        return 2 * self.queries + 2 * self.keys + normed + 4 * self.intermediate

    @property
    def fused_activations(self) -> int:
        """Numbers a token that one layer of fused kernels keeps for its gradient; tensor parallelism splits them all.

        Two norms, each with its input and its result; queries, keys, values and the result of attention, once more
        queries and keys where they are normed; gate and up in one, and their product. A sequence-parallel norm is
        split as well.
        """
        normed = self.queries + self.keys if self.model_type in _NORMED else 0
        return 4 * self.hidden + 2 * self.queries + 2 * self.keys + normed + 3 * self.intermediate

    @property
    def cached(self) -> int:
        """Numbers a token in the KV cache."""
        return 2 * self.layers * self.keys

    @property
    def shares_prompts(self) -> bool:
        """Whether the local backend may put samples of one prompt into one row."""
        return self.model_type in _SHARING
