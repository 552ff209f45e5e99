"""Keys of verl by the names of the flat format, so that its rules and readers serve this format too."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from agentic_rl.config.aura.rules.facts import WatchedFacts
from agentic_rl.config.flat.length_rules import LENGTHS
from agentic_rl.config.flat.prompt_rules import PROMPT_RULES
from agentic_rl.config.flat.resume_rules import RESUMING
from agentic_rl.config.rules import Facts, MissingFactError, Problem, Rule

_ROLLOUT, _ACTOR = "actor_rollout_ref.rollout", "actor_rollout_ref.actor"
SAME: dict[str, str] = {
    "tokenizer_name_or_path": "actor_rollout_ref.model.path",
    "max_prompt_length": "data.max_prompt_length",
    "max_num_batched_tokens": f"{_ROLLOUT}.max_num_batched_tokens",
    "max_num_seqs": f"{_ROLLOUT}.max_num_seqs",
    "num_gpus_per_node": "trainer.n_gpus_per_node",
    "rollout_n": f"{_ROLLOUT}.n",
    "verl.nnodes": "trainer.nnodes",
    "verl.train_files": "data.train_files",
    "verl.val_files": "data.val_files",
    "verl.train_batch_size": "data.train_batch_size",
    "verl.truncation": "data.truncation",
    "verl.total_epochs": "trainer.total_epochs",
    "verl.total_training_steps": "trainer.total_training_steps",
    "verl.project_name": "trainer.project_name",
    "verl.experiment_name": "trainer.experiment_name",
    "verl.val_only": "trainer.val_only",
}
"""Key of the flat format -> key of verl."""
_WINDOWS = {
    **SAME,
    "max_prompt_length": f"{_ROLLOUT}.prompt_length",
    "verl.max_response_length": f"{_ROLLOUT}.response_length",
    "verl.ppo_max_token_len_per_gpu": f"{_ACTOR}.ppo_max_token_len_per_gpu",
}
"""The same for rules about what the engine writes, whose lengths are those of the rollout."""
_UNSET = {"verl.total_training_steps": None}


def _adapted(rule: Rule, names: Mapping[str, str], *, files: bool = False) -> Rule:
    """A rule of the flat format as one on keys of verl, with the same page; `files`: it needs what files say."""

    def check(facts: Facts) -> Iterator[Problem]:
        if isinstance(facts, WatchedFacts):
            yield from (_told(problem, names) for problem in rule.check(_view(facts, names, files)))

    return Rule(rule.page, check)


def _view(facts: WatchedFacts, names: Mapping[str, str], files: bool) -> Facts:
    given = {flat: facts.get(native, _UNSET.get(flat, ...)) for flat, native in names.items()}
    values: dict[str, Any] = {key: value for key, value in given.items() if value is not ...}
    overridden = {flat: facts.overridden[native] for flat, native in names.items() if native in facts.overridden}
    written = [flat for flat, native in names.items() if facts.wrote(native)]
    of_files = facts.of_files() if files else {}
    return Facts({**of_files, **values, "train_backend": "verl"}, [*written, *overridden], overridden)


def _told(problem: Problem, names: Mapping[str, str]) -> Problem:
    """The problem under this format's names, in its words too."""
    last = {key.rpartition(".")[2]: native.rpartition(".")[2] for key, native in names.items()}
    pattern = re.compile(rf"(?<![\w./])({'|'.join(sorted(last, key=len, reverse=True))})(?![\w/])")

    def renamed(text: str) -> str:
        return pattern.sub(lambda found: last[found[1]], text)

    key = names.get(problem.key, problem.key)
    return replace(problem, key=key, message=renamed(problem.message), hint=renamed(problem.hint))


def _chosen(rules: Iterable[Rule], codes: Iterable[str]) -> list[Rule]:
    return [one for one in rules if one.page.code in codes]


def _where(rule: Rule, holds: Mapping[str, tuple[Any, ...]]) -> Rule:
    """The rule where each key has one of the values, else it is skipped."""

    def check(facts: Facts) -> Iterable[Problem]:
        for key, values in holds.items():
            if facts.get(key) not in values:
                raise MissingFactError(key)
        return rule.check(facts)

    return Rule(rule.page, check)


_OWN_FOLDER = {"trainer.resume_mode": (None, "auto"), "trainer.default_local_dir": (None,)}
"""Without these the run goes on from `checkpoints/<project_name>/<experiment_name>`."""
ADAPTED: list[Rule] = [
    *(_where(_adapted(one, _WINDOWS), {f"{_ACTOR}.use_dynamic_bsz": (True,)}) for one in _chosen(LENGTHS, ("ARL243",))),
    *(_adapted(one, _WINDOWS) for one in _chosen(LENGTHS, ("ARL245",))),
    *(_where(_adapted(one, SAME, files=True), {"data.filter_overlong_prompts": (False,)}) for one in PROMPT_RULES),
    *(
        _where(_adapted(one, SAME, files=True), _OWN_FOLDER)
        for one in _chosen(RESUMING, ("ARL260", "ARL261", "ARL262", "ARL264"))
    ),
]
"""Rules of the flat format that hold here, on keys of verl."""
