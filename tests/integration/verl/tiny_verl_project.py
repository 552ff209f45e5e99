"""A project that real verl trains on a CPU in about a minute and a half: a random model of 90,000 weights."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import yaml

from agentic_rl.projects import create

AGENT = '''
"""Asks twice, with a tool between; the reward depends on what was written, so that a group has better and worse."""

import os
from pathlib import Path

from agentic_rl import Agent, tool


@tool
def count(text: str) -> str:
    """Count characters.

    Args:
        text: what is counted.
    """
    return str(len(text))


class Counting(Agent):
    async def run(self, task, model):
        messages = list(task.prompt)
        reply = await model.chat(messages, tools=[count])
        model.metrics["tool_calls"] += 1
        answer = count(text=reply["content"] or "")
        messages += [reply, {"role": "tool", "content": answer, "tool_call_id": "call_0"}]
        last = await model.chat(messages, tools=[count])
        return (len(last["content"] or "") % 5) / 4.0
'''

FAILING = '''
"""The first step's rollouts hang, or earn nonsense, one in four each; those of later steps all break."""

import asyncio

from agentic_rl import Agent

FIRST_STEP = 16
made = 0


class Failing(Agent):
    async def run(self, task, model):
        global made
        made += 1
        number = made
        await model.chat(task.prompt)
        if number > FIRST_STEP:
            raise RuntimeError("the service has gone away")
        if number % 4 == 0:
            await asyncio.sleep(600)
        return float("nan") if number % 4 == 1 else number % 3
'''


def make(folder: Path, agent: str = AGENT, **changed: Any) -> Path:
    """Write the project; return the path of its configuration. `changed` are values of its first level or of `verl`."""
    create("quickstart", folder)
    _reshape(folder / "model")
    (folder / "agent.py").write_text(agent, encoding="utf-8")
    config = yaml.safe_load((folder / "config.yaml").read_text(encoding="utf-8"))
    data = {name: config["local"][name] for name in ("train_files", "val_files")}
    for name in ("local",):
        del config[name]
    config |= {
        "train_backend": "verl",
        "agent_name": "counting",
        "agent_engine_wrapper_path": str(folder / "agent.py"),
        "num_gpus_per_node": 1,
        "infer_tensor_parallel_size": 1,
        "rollout_n": 4,
        "max_num_seqs": 32,
        "max_num_batched_tokens": 2048,
        "max_prompt_length": 64,
        "lr": 1.0e-3,
        "min_lr": 0.0,
        "verl": {
            **data,
            "project_name": "tiny",
            "experiment_name": "one",
            "train_batch_size": 4,
            "ppo_mini_batch_size": 4,
            "total_epochs": 1,
            "max_response_length": 60,
            "ppo_max_token_len_per_gpu": 4096,
            "val_before_train": False,
            "save_freq": 1,
        },
    }
    of_section = {name: changed.pop(name) for name in list(changed) if name in _SECTION_KEYS}
    config |= changed
    config["verl"] |= of_section
    (folder / "config.yaml").write_text(yaml.safe_dump(config, sort_keys=False), encoding="utf-8")
    for path in folder.rglob("*"):
        path.chmod(0o750 if path.is_dir() else 0o640)
    return folder / "config.yaml"


_SECTION_KEYS = {"total_training_steps", "train_batch_size", "save_freq", "startup_timeout"}


def _reshape(model: Path) -> None:
    """vLLM's attention for CPUs takes heads of 32 numbers and more; those of the quickstart have 16."""
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    config = AutoConfig.from_pretrained(model)
    config.head_dim, config.num_attention_heads, config.num_key_value_heads = 32, 2, 2
    torch.manual_seed(0)
    AutoModelForCausalLM.from_config(config).save_pretrained(model)


def environment() -> dict[str, str]:
    """Of the processes that train: one thread for torch, nothing of pytest's."""
    return {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"}
