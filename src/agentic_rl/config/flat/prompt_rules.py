"""Prompts of the data against the configuration (ARL45x)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from agentic_rl.config.fields.wording import show
from agentic_rl.config.flat.in_force import key_of, origin, source
from agentic_rl.config.rules import Facts, Problem, Rule, rule

if TYPE_CHECKING:
    from agentic_rl.config.artifacts.prompt_tokens import Overlong

PROMPT_RULES: list[Rule] = []
KEYS = {
    "verl": {"train": "verl.train_files", "val": "verl.val_files"},
    "local": {"train": "local.train_files", "val": "local.val_files"},
    "mindspeed_rl": {"train": "mindspeed_rl.data_path", "val": "mindspeed_rl.test_data_path"},
}
"""The keys of the data by backend."""


@rule(PROMPT_RULES, "ARL451", "Prompts longer than max_prompt_length", "warning")
def overlong_prompts(facts: Facts) -> Iterator[Problem]:
    """Some prompts of the data have more tokens than `max_prompt_length`.

    The tokens are counted with the model's own tokenizer, without those that the chat template adds; in large files a
    spread sample of the rows is counted. In JSON rows the prompt is the column of `dataset_additional_keys` that is
    called `prompt`, `problem`, `question`, `query` or `instruction`.

    With verl and local our rollouts do what `truncation` says: with `error` those of such a prompt fail, and with
    `left` the system message goes first. MindSpeed-RL (master, 05a90d7) leaves such a row out without a word
    (`get_packed_indexed_dataset`, which keeps what has fewer tokens than the limit). Raise the limit (and
    `max_model_len` with it), or filter the rows.
    """
    limit = facts["max_prompt_length"]
    for name in ("train", "val"):
        found: Overlong | None = facts.get(f"@{name}.overlong")
        if found is not None:
            key = KEYS[facts["train_backend"]][name]
            message = f"{show(limit)} tokens{origin(facts, 'max_prompt_length')}, but "
            message += f"{_how_many(found)} of {facts[key]} {_have(found)}"
            yield Problem("max_prompt_length", f"{message}; {_consequence(facts)}", _hint(facts, found, limit))


def _how_many(found: Overlong) -> str:
    if found.complete:  # the rows were counted then
        return f"{found.over:,} of {found.rows:,} prompts"
    looked_at = "" if found.seen == found.rows else " looked at" + (f" (of {found.rows:,})" if found.rows else "")
    return f"{'about' if found.estimated else 'at least'} {found.over:,} of the {found.seen:,} prompts{looked_at}"


def _have(found: Overlong) -> str:
    if found.estimated:
        return "have more, judged by their characters (no tokenizer to count with)"
    return "have more" + (f" (the longest {found.longest:,})" if found.longest else "")


def _consequence(facts: Facts) -> str:
    if facts["train_backend"] == "mindspeed_rl":
        return "MindSpeed-RL leaves their rows out"
    key = key_of(facts, "truncation")
    result = "their rollouts fail" if facts[key] == "error" else "they are cut"
    return f"with truncation {facts[key]}{source(facts, key)} {result}"


def _hint(facts: Facts, found: Overlong, limit: int) -> str:
    enough = -(-found.longest // 64) * 64
    raised = f"max_prompt_length: {enough}" if limit < enough <= 131072 else "raise max_prompt_length"
    cut = "truncation: left, " if facts.get(key_of(facts, "truncation")) == "error" else ""
    return f"{raised} (max_model_len must hold it and the response), {cut}or filter the long rows"
