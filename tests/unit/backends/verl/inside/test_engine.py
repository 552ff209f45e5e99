from __future__ import annotations

import asyncio
from typing import Any

import pytest

from agentic_rl.backends.verl.inside.engine import SERVED, Served, VerlEngine
from agentic_rl.rollout.engines.base import Completion, EngineClosedError, PromptTooLongError, SamplingParams
from verl_server_doubles import ANSWER, FORMAT, ServerManager

PARAMS = SamplingParams(100, 0.7, 20, 0.9, 0.05, stop_token_ids=FORMAT.stop_ids, seed=9)


def generate(manager: ServerManager, params: SamplingParams = PARAMS, **given: Any) -> Completion:
    engine = VerlEngine(manager, given.pop("max_model_len", 500))
    return asyncio.run(engine.generate(given.pop("prompt", [1, 2, 3]), params, **given))


def test_a_request_is_vllms_and_has_no_seed() -> None:
    manager = ServerManager()
    completion = generate(manager, session="s")
    assert completion == Completion(ANSWER, [-0.5] * len(ANSWER), "stop")
    assert manager.requests[0].sampling == {
        "max_tokens": 100,
        "temperature": 0.7,
        "top_k": 20,
        "top_p": 0.9,
        "min_p": 0.05,
        "stop_token_ids": list(FORMAT.stop_ids),
        "logprobs": True,
    }


def test_turns_of_a_session_go_to_one_server_and_other_workers_have_other_sessions() -> None:
    manager = ServerManager()
    engines = VerlEngine(manager, 500), VerlEngine(manager, 500)

    async def ask() -> None:
        for engine, session in zip(engines[:1] * 4 + engines[1:], ["s", "s", None, None, "s"], strict=True):
            await engine.generate([1], PARAMS, session=session)

    asyncio.run(ask())
    ids = [request.id for request in manager.requests]
    assert ids[0] == ids[1]
    assert len(set(ids)) == 4


@pytest.mark.parametrize(("prompt", "limit"), [(3, 100), (450, 50)])
def test_an_answer_without_end_is_cut_by_its_limit(prompt: int, limit: int) -> None:
    completion = generate(ServerManager([7] * 400), prompt=[1] * prompt)
    assert (len(completion.tokens), completion.finish_reason) == (limit, "length")


def test_an_end_that_only_the_engine_knows_is_a_stop() -> None:
    assert generate(ServerManager([7, 8])).finish_reason == "stop"


def test_what_cannot_be_answered_is_an_error() -> None:
    with pytest.raises(PromptTooLongError, match="500"):
        generate(ServerManager(), prompt=[1] * 500)
    with pytest.raises(EngineClosedError, match="gave the request up"):
        generate(ServerManager(stop_reason="aborted"))
    with pytest.raises(EngineClosedError, match="0 log-probabilities"):
        generate(ServerManager(log_probs=None))


def test_the_steps_of_the_weights_are_kept_for_the_rollout() -> None:
    async def ask() -> Served:
        served = Served()
        SERVED.set(served)
        for oldest, newest in ((4, 6), (3, 5)):
            steps = {"min_global_steps": oldest, "max_global_steps": newest}
            await VerlEngine(ServerManager(extra_fields=steps), 500).generate([1], PARAMS)
        return served

    served = asyncio.run(ask())
    assert (served.oldest, served.newest) == (3, 6)
    assert served.seconds > 0
