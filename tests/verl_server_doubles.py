"""verl itself for tests, and a test double of its `server_manager`, which answers tokens as its servers do."""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

from agentic_rl.backends.verl.inside.settings import RolloutSettings
from agentic_rl.rollout.chat import ChatFormat
from rollout_doubles import make_tokenizer, spelled
from verl_doubles import HAS_VERL

FORMAT = ChatFormat(make_tokenizer())
ANSWER = spelled(FORMAT.tokenizer, r"\boxed{84}")


def import_verl() -> bool:
    """Import verl where it is installed, whose own imports warn; False where it is not."""
    if HAS_VERL:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import verl.trainer.main_ppo
            import verl.trainer.ppo.v1  # noqa: F401 - what everything here needs
    return HAS_VERL


class ServerManager:
    """Answers every request with the next of `answers`, cut at its limit; then begins again."""

    def __init__(self, *answers: Sequence[int], step: int = 4, **changes: Any) -> None:
        self.answers = answers or (ANSWER,)
        self.requests: list[SimpleNamespace] = []
        self.in_flight = self.most_in_flight = 0
        self._step = step
        self._changes = changes

    async def generate(
        self, request_id: str, *, prompt_ids: list[int], sampling_params: dict[str, Any], **_: Any
    ) -> SimpleNamespace:
        self.requests.append(SimpleNamespace(id=request_id, prompt=prompt_ids, sampling=sampling_params))
        answer = self.answers[(len(self.requests) - 1) % len(self.answers)]
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        await asyncio.sleep(0.002)
        self.in_flight -= 1
        tokens = tuple(answer[: sampling_params["max_tokens"]])
        steps = {"global_steps": self._step, "min_global_steps": self._step, "max_global_steps": self._step}
        output = {
            "token_ids": tokens,
            "log_probs": [-0.5] * len(tokens),
            "stop_reason": "completed",
            "extra_fields": steps,
        }
        return SimpleNamespace(**{**output, **self._changes})


def settings(**changes: Any) -> RolloutSettings:
    values: dict[str, Any] = {
        "agent_name": "math",
        "agent_file": None,
        "max_prompt_length": 2000,
        "max_response_length": 400,
        "max_tokens": 100,
        "max_steps": 3,
        "temperature": 0.7,
        "top_k": 20,
        "top_p": 0.9,
        "min_p": 0.01,
        "n_parallel_agents": 8,
        "turn_timeout": 5.0,
        "trajectory_timeout": 10.0,
        "truncation": "error",
        "stepwise": False,
        "seed": 3,
    }
    return RolloutSettings(**{**values, **changes})


def row(session: int = 0, **changes: Any) -> dict[str, Any]:
    """What verl hands to `run`."""
    values: dict[str, Any] = {
        "raw_prompt": [{"role": "system", "content": "Do sums.", "name": None}, {"role": "user", "content": "7*12?"}],
        "reward_model": {"style": "rule", "ground_truth": "84"},
        "data_source": "sums",
        "extra_info": {"index": 5, "level": 2},
        "index": 5,
        "session_id": session,
        "uid": "a-uid",
        "global_steps": 5,
    }
    return {**values, **changes}


TRAINING = {"temperature": 0.7, "top_p": 0.9, "top_k": 20, "repetition_penalty": 1.0, "logprobs": True}
GREEDY = {**TRAINING, "temperature": 0, "top_p": 1.0, "top_k": -1}
