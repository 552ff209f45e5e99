"""Tokens: what prompts, responses, turns and the engine's window may take, in the three places (ARL287 to ARL289)."""

from __future__ import annotations

from collections.abc import Iterator

from agentic_rl.config.aura.rules.facts import AGENT_LIMITS, SAMPLING, source, told, trainings
from agentic_rl.config.fields.wording import show
from agentic_rl.config.rules import Facts, MissingFactError, Problem, Rule, rule

LENGTHS: list[Rule] = []
VERL_LENGTHS: list[Rule] = []

_ROLLOUT = "actor_rollout_ref.rollout"
_WINDOW = f"{_ROLLOUT}.max_model_len"
_BATCHED = f"{_ROLLOUT}.max_num_batched_tokens"
_CHUNKED = f"{_ROLLOUT}.enable_chunked_prefill"


@rule(VERL_LENGTHS, "ARL287", "Longest sample does not fit the engine's window", "error")
def window(facts: Facts) -> Iterator[Problem]:
    """`rollout.prompt_length` and `rollout.response_length` together must fit `rollout.max_model_len`.

    The same sum of `data.max_prompt_length` and `data.max_response_length` may be larger: an agent loop stops at the
    window, and published recipes do this, so that it is a warning.
    """
    limit = _whole(facts, _WINDOW)
    prompt, response = f"{_ROLLOUT}.prompt_length", f"{_ROLLOUT}.response_length"
    total = _whole(facts, prompt) + _whole(facts, response)
    sums = {_WINDOW: (total, prompt, response)}
    inner = (facts["data.max_prompt_length"], facts["data.max_response_length"])
    if total > limit:
        message = f"{show(limit)} tokens{source(facts, _WINDOW)}, but {told(facts, prompt)} + {told(facts, response)} "
        message += f"= {show(sums[_WINDOW][0])} tokens"
        room = limit - _whole(facts, prompt)
        hint = f"max_model_len: {show(total)}" + (f", or response_length: {show(room)}" if room > 0 else "")
        yield Problem(_WINDOW, message, hint)
    elif sum(inner) > limit:
        message = f"{told(facts, 'data.max_prompt_length')} + {told(facts, 'data.max_response_length')} = "
        message += f"{show(sum(inner))} tokens, but rollout.max_model_len is {show(limit)}: long trajectories end there"
        hint = f"max_response_length: {show(max(1, limit - inner[0]))}"
        yield Problem("data.max_response_length", message, hint, "warning")


@rule(VERL_LENGTHS, "ARL288", "Lengths of data and rollout differ", "warning")
def two_places(facts: Facts) -> Iterator[Problem]:
    """`data.max_prompt_length` and `rollout.prompt_length` mean the same, as do the two lengths of responses.

    verl fills prompts and responses up to the lengths of the rollout, and selects tasks by that of the data.
    """
    for data, rollout in (("max_prompt_length", "prompt_length"), ("max_response_length", "response_length")):
        one, other = f"data.{data}", f"{_ROLLOUT}.{rollout}"
        if facts[one] != facts[other] and (facts.wrote(one) or facts.wrote(other)):
            message = (
                f"{show(facts[other])} tokens{source(facts, other)}, but {told(facts, one, f'data.{data}')} tokens"
            )
            key = other if facts.wrote(other) else one
            yield Problem(key, message, f"{rollout}: ${{verl_conf.{one}}}")


@rule(VERL_LENGTHS, "ARL289", "Long prompts can't be read in parts", "error")
def chunked_prefill(facts: Facts) -> Iterator[Problem]:
    """Without `enable_chunked_prefill` a whole sequence must fit one forward pass of the engine.

    So `max_num_batched_tokens` must not be below `max_model_len`: vLLM refuses to start (`SchedulerConfig`). With
    mindspeed_rl that check is taken out, so that there it is a warning. verl's own default is 8192 tokens.
    """
    budget, limit = _whole(facts, _BATCHED), _whole(facts, _WINDOW)
    if facts[_CHUNKED] is not False or budget >= limit:
        return
    message = f"{show(budget)} tokens{source(facts, _BATCHED)}, but max_model_len is {show(limit)} tokens and "
    message += f"{told(facts, _CHUNKED)}: the engine would not start"
    hint = f"max_num_batched_tokens: {show(limit)}, or enable_chunked_prefill: true"
    yield Problem(_BATCHED, message, hint, None if facts.wrote(_CHUNKED) else "warning")


@rule(LENGTHS, "ARL215", "Turns that the window has no room for", "warning")
def turn_budget(facts: Facts) -> Iterator[Problem]:
    """A prompt of full length and one answer of `max_tokens` should fit the agent's `max_model_len`.

    Where they do not, the server refuses the request, or the answer ends early; with several turns the second one
    rarely fits. The documented sample is made so, which is why it is a warning.
    """
    for agent in dict.fromkeys(one.agent for one in trainings(facts) if one.agent):
        limits, key = f"{agent}.{AGENT_LIMITS}", f"{agent}.{SAMPLING}.max_tokens"
        each, prompt, limit = (
            facts.get(key),
            facts.get(f"{limits}.max_prompt_length"),
            facts.get(f"{limits}.max_model_len"),
        )
        if isinstance(each, int) and isinstance(prompt, int) and isinstance(limit, int) and prompt + each > limit:
            message = (
                f"{show(each)} tokens{source(facts, key)}, but {told(facts, f'{limits}.max_prompt_length')} leaves "
            )
            message += f"{show(max(0, limit - prompt))} of {told(facts, f'{limits}.max_model_len')}"
            yield Problem(key, message, f"max_tokens: {show(max(1, (limit - prompt) // 2))}")


@rule(LENGTHS, "ARL216", "The agent's limits differ from the engine's", "warning")
def agent_limits(facts: Facts) -> Iterator[Problem]:
    """The agent's `max_model_len` and `max_prompt_length` should not be above those of the engine and of the data."""
    for one in trainings(facts):
        if not (one.agent and one.native):
            continue
        pairs = (("max_model_len", _WINDOW), ("max_prompt_length", "data.max_prompt_length"))
        for name, other in pairs:
            key, engine = f"{one.agent}.{AGENT_LIMITS}.{name}", f"{one.native}.{other}"
            own, limit = facts.get(key), facts.get(engine)
            if isinstance(own, int) and isinstance(limit, int) and own > limit and facts.wrote(key):
                message = f"{show(own)} tokens, but {told(facts, engine, other)} tokens"
                yield Problem(key, message, f"{name}: ${{{engine}}}")


def _whole(facts: Facts, key: str) -> int:
    value = facts[key]
    if isinstance(value, bool) or not isinstance(value, int):
        raise MissingFactError(key)
    return value
