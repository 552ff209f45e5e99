"""Composed trees of the instances format for tests of its schema and rules: a text, or changes to a sound one."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

from agentic_rl.config.aura.validation import Validated, validate
from agentic_rl.config.diagnostics import Place
from agentic_rl.config.source import parse

SOUND = """
agentic_ai:
  mode: direct
  log_dir: /home/me/log
direct_conf:
  entrypoints:
    - job_type: train
      job_name: ${train_instances.0.name}
verl_conf:
  data:
    train_files: /home/me/data/train.parquet
    val_files: /home/me/data/test.parquet
    train_batch_size: 16
    max_prompt_length: 1024
    max_response_length: 2048
  actor_rollout_ref:
    model:
      path: /home/me/models/qwen2.5-7b
      use_remove_padding: true
    actor:
      strategy: fsdp
      ppo_mini_batch_size: 16
      ppo_micro_batch_size_per_gpu: 1
    rollout:
      prompt_length: 1024
      response_length: 2048
      max_model_len: 4096
      max_num_batched_tokens: 8192
      enable_chunked_prefill: true
      log_prob_micro_batch_size_per_gpu: 1
      do_sample: true
      n: 8
    ref:
      log_prob_micro_batch_size_per_gpu: 1
  trainer:
    n_gpus_per_node: 8
train_instances:
  - name: TRAIN
    executor_kwargs:
      cluster_mode: hybrid
      train_engine: verl
      train_config: ${verl_conf}
      agent_service: ${agent_instances.0.name}
      infer_service: ${infer_instances.0.name}
agent_instances:
  - name: AGENT
    executor_kwargs:
      agent_engine: rllm
      agent_engine_kwargs:
        agent_name: math
        max_prompt_length: 1024
        tokenizer: /home/me/models/qwen2.5-7b
      infer_service_params:
        max_tokens: 1024
        model: ${infer_instances.0.name}
infer_instances:
  - name: POLICY
    executor_kwargs:
      engine_kwargs:
        chat_server: http://127.0.0.1:8080
        model_name: qwen2.5-7b
"""
REMOVED = object()
"""In changes: take the key out."""


@dataclass
class TreeOrigin:
    """Where a value came from."""

    kind: str = "file"
    name: str = ""


@dataclass
class PlainTree:
    """A tree without templates."""

    tree: dict[str, Any]
    places: Mapping[str, Place]
    written: set[str] = field(default_factory=set)
    origins: dict[str, TreeOrigin] = field(default_factory=dict)

    def place_of(self, key: str) -> Place | None:
        return self.places.get(key)


def composed(
    text: str, changes: Mapping[str, Any] | None = None, templates: Mapping[str, Any] | None = None
) -> PlainTree:
    """The tree of a text with values changed by dotted key; those of `templates` are nobody's where none is written."""
    document = parse(text, "config.yaml")
    tree = {name: value for name, value in document.tree.items() if name not in ("hydra", "defaults")}
    for key, value in (changes or {}).items():
        _put(tree, key, value)
    written = set(_leaves(tree, ""))
    result = PlainTree(tree, document.places, written)
    for key, value in (templates or {}).items():
        if key not in written:
            _put(tree, key, value)
            result.origins[key] = TreeOrigin("template", "ppo_trainer")
    result.tree = _resolved(tree, tree)
    return result


def completed(text: str) -> str:
    """A part of a file with what any file needs: lists are put together item by item."""
    return yaml.safe_dump(_merged(yaml.safe_load(SOUND), yaml.safe_load(text)), sort_keys=False)


def _merged(below: Any, above: Any) -> Any:
    if isinstance(below, dict) and isinstance(above, dict):
        return {**below, **{name: _merged(below.get(name), value) for name, value in above.items()}}
    if isinstance(below, list) and isinstance(above, list):
        items = [_merged(one, other) for one, other in zip(below, above, strict=False)]
        return [*items, *below[len(items) :], *above[len(items) :]]
    return above


def checked(changes: Mapping[str, Any] | None = None, templates: Mapping[str, Any] | None = None) -> Validated:
    """What validation makes of the sound tree with changes."""
    return validate(composed(SOUND, changes, templates))


def told(changes: Mapping[str, Any], templates: Mapping[str, Any] | None = None) -> list[str]:
    """Severity, code and key of every finding about the sound tree with changes."""
    return [f"{one.severity} {one.code} {one.key}" for one in checked(changes, templates).findings]


def _parts(key: str) -> list[str | int]:
    return [int(part[1:-1]) if part[0] == "[" else part for part in re.findall(r"\[\d+\]|[^.\[\]]+", key)]


def _put(tree: Any, key: str, value: Any) -> None:
    *path, last = _parts(key)
    for part in path:
        if isinstance(part, str) and not isinstance(tree.get(part), (dict, list)):
            tree[part] = {}
        tree = tree[part]
    if value is REMOVED:
        del tree[last]
    elif isinstance(last, int) and last == len(tree):
        tree.append(value)
    else:
        tree[last] = value


def _leaves(node: Any, prefix: str) -> list[str]:
    if isinstance(node, dict) and node:
        return [
            key for name, below in node.items() for key in _leaves(below, f"{prefix}.{name}" if prefix else str(name))
        ]
    if isinstance(node, list) and any(isinstance(item, (dict, list)) for item in node):
        return [key for index, item in enumerate(node) for key in _leaves(item, f"{prefix}[{index}]")]
    return [prefix]


def _resolved(node: Any, root: Any) -> Any:
    if isinstance(node, dict):
        return {name: _resolved(below, root) for name, below in node.items()}
    if isinstance(node, list):
        return [_resolved(item, root) for item in node]
    if isinstance(node, str) and (found := re.fullmatch(r"\$\{([\w.]+)\}", node)):
        target = root
        for part in found[1].split("."):
            target = target[int(part)] if isinstance(target, list) else target.get(part, node)
        return node if isinstance(target, str) and "${" in target else _resolved(target, root)
    return node
