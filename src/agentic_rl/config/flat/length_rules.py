"""The length budget: what prompts, responses, turns and batches may take, in tokens (ARL240-246)."""

from __future__ import annotations

from collections.abc import Iterator

from agentic_rl.config.diagnostics import Severity
from agentic_rl.config.fields.wording import show
from agentic_rl.config.flat.in_force import key_of, origin, told, wrote_any
from agentic_rl.config.rules import Facts, Problem, Rule, rule

LENGTHS: list[Rule] = []
MODEL_LENGTHS: list[Rule] = []
"""Rules that need the model's own context."""


@rule(LENGTHS, "ARL240", "Longest sample does not fit the engine", "error")
def context_sum(facts: Facts) -> Iterator[Problem]:
    """The longest sample, `max_prompt_length` and `max_response_length` together, must fit `max_model_len`.

    The engine makes no longer sequence, so on verl long prompts get a shorter response than the loss is laid out for,
    or a request is refused in the middle of a run. `local` ends such a response early, which is a warning.
    `mindspeed_rl` has no limit of responses of its own; there the prompt alone must leave room.
    """
    backend = facts["train_backend"]
    prompt, limit = facts["max_prompt_length"], facts["max_model_len"]
    if backend == "mindspeed_rl":
        if prompt >= limit:
            message = f"{show(limit)} tokens{origin(facts, 'max_model_len')}, but {told(facts, 'max_prompt_length')}: "
            message += "a prompt of full length leaves no room for a response"
            yield Problem("max_model_len", message, f"max_model_len: {show(prompt * 2)}", "warning")
        return
    key = key_of(facts, "max_response_length")
    response = facts[key]
    total = prompt + response
    if total <= limit:
        return
    message = f"{show(limit)} tokens{origin(facts, 'max_model_len')}, but {told(facts, 'max_prompt_length')} + "
    message += f"{told(facts, key)} = {show(total)} tokens, {show(total - limit)} more than fit"
    message += ": responses to long prompts end early" if backend == "local" else ""
    hint = f"max_model_len: {show(total)}"
    hint += f", or max_response_length: {show(limit - prompt)}" if prompt < limit else ""
    yield Problem("max_model_len", message, hint, "warning" if backend == "local" else None)


@rule(MODEL_LENGTHS, "ARL241", "Sequences longer than the model's own context", "warning")
def model_context(facts: Facts) -> Iterator[Problem]:
    """`max_model_len` should not be above the model's own context, `max_position_embeddings` of its `config.json`.

    Beyond the positions that it was trained with a model answers inaccurately, and recent versions of verl refuse to
    start. A model whose context was stretched says so in its `config.json`.
    """
    limit, context = facts["max_model_len"], facts["@model.max_position_embeddings"]
    longest = limit
    if facts["train_backend"] == "local" and not facts.wrote("max_model_len"):
        longest = min(limit, facts["max_prompt_length"] + facts["local.max_response_length"])
    if longest > context:
        message = f"{show(limit)} tokens{origin(facts, 'max_model_len')}, but the model's own context is "
        message += f"{show(context)} tokens (max_position_embeddings): beyond it answers are inaccurate"
        yield Problem("max_model_len", message, f"max_model_len: {show(context)}")


@rule(LENGTHS, "ARL242", "Prompts are read in parts", "warning")
def batched_tokens(facts: Facts) -> Iterator[Problem]:
    """With `max_num_batched_tokens` below `max_model_len` a long sequence does not fit one forward pass of the engine.

    vLLM then reads it in parts (chunked prefill), which costs time; an engine with chunked prefill turned off refuses
    to start (vLLM 0.28.0, `SchedulerConfig.verify_max_model_len`; it is on unless turned off). The documented defaults,
    8192 and 16384, are such a pair. The engine of `local` always reads in parts.
    """
    keys = ("max_num_batched_tokens", "max_model_len")
    batched, limit = (facts[key] for key in keys)
    if facts["train_backend"] != "local" and batched < limit and wrote_any(facts, keys):
        message = f"{show(batched)} tokens{origin(facts, keys[0])} is less than {told(facts, keys[1])}: longer "
        message += "sequences are read in parts (chunked prefill), and refused where that is off"
        yield Problem(keys[0], message, f"max_num_batched_tokens: {show(limit)}")


@rule(LENGTHS, "ARL243", "Sample longer than a micro batch", "error")
def token_budget(facts: Facts) -> Iterator[Problem]:
    """`ppo_max_token_len_per_gpu`, the tokens of one micro batch, must hold the longest sample.

    verl stops the update at the first longer sample (`max_token_len must be greater than the sequence length`); its
    documentation advises `rollout_n` times the longest sample. `local` gives a longer sample a micro batch of its own,
    so that only the bound on memory is broken.
    """
    key, response_key = key_of(facts, "ppo_max_token_len_per_gpu"), key_of(facts, "max_response_length")
    budget, prompt, response, group = facts[key], facts["max_prompt_length"], facts[response_key], facts["rollout_n"]
    longest = prompt + response
    arithmetic = f"{told(facts, 'max_prompt_length')} + {told(facts, response_key)} = {show(longest)} tokens"
    message = f"{show(budget)} tokens{origin(facts, key)}, but the longest sample has {arithmetic}"
    if longest <= budget:
        if facts["train_backend"] == "verl" and facts.wrote(key) and budget < group * longest:
            message = f"{show(budget)} tokens; verl advises {told(facts, 'rollout_n')} x the longest sample "
            message += f"({arithmetic}) = {show(group * longest)} tokens: smaller micro batches take longer"
            yield Problem(key, message, f"ppo_max_token_len_per_gpu: {show(group * longest)}", "note")
    elif facts["train_backend"] == "local":
        message += ": it gets a micro batch of its own, which takes more memory than this limit says"
        yield Problem(key, message, f"ppo_max_token_len_per_gpu: {show(longest)}", "note")
    else:
        yield Problem(key, message, f"ppo_max_token_len_per_gpu: {show(longest)}, better {show(group * longest)}")


@rule(LENGTHS, "ARL244", "Turns that do not all fit", "warning")
def turn_budget(facts: Facts) -> Iterator[Problem]:
    """`max_steps` turns of `max_tokens` each are an upper bound of what a trajectory may take after its prompt.

    Turns are rarely that long, so more than fits is a note. It is a warning where a person asked for several turns
    and for turns so long that not even two of them fit: the first long answer leaves no room for the next turn. It is
    one, too, where `max_tokens` is written and not even one such turn fits: no answer can become that long.
    """
    backend = facts["train_backend"]
    turns, each = facts["max_steps"], facts["max_tokens"]
    room = facts["max_model_len"] - facts["max_prompt_length"]
    if backend != "mindspeed_rl":
        room = min(room, facts[key_of(facts, "max_response_length")])
    alone = facts.wrote("max_tokens") and each > room
    if (
        turns * each <= room
        or room <= 0
        or not (alone or (turns > 1 and wrote_any(facts, ("max_steps", "max_tokens"))))
    ):
        return
    message = f"{told(facts, 'max_steps')} x {told(facts, 'max_tokens')} = {show(turns * each)} tokens at most, "
    message += f"but after the prompt there is room for {show(room)}: {_full_turns(room // each)}"
    asked = facts.wrote("max_steps") and facts.wrote("max_tokens")
    severity: Severity = "warning" if alone or (asked and room < 2 * each) else "note"
    key = "max_tokens" if facts.wrote("max_tokens") else "max_steps"
    yield Problem(key, message, _fewer_or_shorter(room, turns, each), severity)


@rule(LENGTHS, "ARL245", "Engine with more sequences than tokens", "error")
def sequences_of_a_pass(facts: Facts) -> Iterator[Problem]:
    """Every sequence that is decoded takes at least one token of a forward pass of the engine.

    So `max_num_batched_tokens` must not be below `max_num_seqs`; vLLM refuses to start otherwise (up to 0.28.0 at
    least, `SchedulerConfig.verify_max_model_len`). The engine of `local` does not look at it.
    """
    keys = ("max_num_batched_tokens", "max_num_seqs")
    tokens, sequences = (facts[key] for key in keys)
    if facts["train_backend"] != "local" and tokens < sequences and wrote_any(facts, keys):
        message = f"{show(tokens)} tokens{origin(facts, keys[0])} of a forward pass is less than "
        message += f"{told(facts, keys[1])}: vLLM refuses to start, since each sequence takes at least one"
        hint = (
            f"max_num_seqs: {show(tokens)}, or max_num_batched_tokens: {show(max(sequences, facts['max_model_len']))}"
        )
        yield Problem(keys[0], message, hint)


@rule(LENGTHS, "ARL246", "Prompts as long as a training sequence", "warning")
def training_sequence(facts: Facts) -> Iterator[Problem]:
    """A training sequence of MindSpeed-RL, `seq_len` tokens at most, is a prompt with its response.

    With a `max_prompt_length` that is not below it the longest prompts leave no token of a response to learn from.
    """
    keys = ("mindspeed_rl.seq_len", "max_prompt_length")
    if facts["train_backend"] != "mindspeed_rl":
        return
    length, prompt = (facts[key] for key in keys)
    if prompt < length or not wrote_any(facts, keys):
        return
    message = f"{show(length)} tokens{origin(facts, keys[0])}, but {told(facts, keys[1])}: "
    message += "a prompt of full length leaves no room for a response"
    limit = facts["max_model_len"]
    longer = min(2 * prompt, limit) if limit > prompt else 2 * prompt
    shorter = f", or max_prompt_length: {show(length // 2)}" if length > 1 else ""
    yield Problem(keys[0], message, f"seq_len: {show(longer)}{shorter}")


def _full_turns(count: int) -> str:
    return f"{count} full turn{'s fit' if count > 1 else ' fits'}" if count else "not even one full turn fits"


def _fewer_or_shorter(room: int, turns: int, each: int) -> str:
    if room < each:
        return f"max_tokens: {show(room // turns)}" if room >= turns else f"max_steps: 1 and max_tokens: {show(room)}"
    hint = f"max_steps: {show(room // each)}"
    return f"{hint}, or max_tokens: {show(room // turns)}" if room >= turns else hint
