"""`agent_name: search_r1`: the policy searches with `<search>`, reads `<information>`, and ends with `<answer>`.

The reward is that of the Search-R1 recipe: 1 if the answer is right, else 0, judged by its text alone.
"""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from typing import Any, Literal

from agentic_rl.agents.agent import Agent, ChatModel
from agentic_rl.agents.builtin.text_match import MATCHES, Match, matches, right_answers
from agentic_rl.agents.errors import BudgetExhaustedError, UnknownAgentError
from agentic_rl.agents.task import Message, Task
from agentic_rl.agents.tools.passages import Searcher, as_text
from agentic_rl.agents.tools.search import open_searcher
from agentic_rl.config.agent_variables import SEARCH, SEARCH_TOPK

STOPS = ("</search>", "</answer>")
INSTRUCTION = (
    "Answer the question below. Think first, between <think> and </think>, whenever you have learned something new. "
    "If you need to know more, write <search> what to look for </search>; what is found is then shown to you between "
    "<information> and </information>. You may search several times. When you know enough, give the answer alone, in a "
    "few words, between <answer> and </answer>, for example <answer> Bern </answer>."
)
"""What `agentic-rl data prepare search` puts before a question."""
REMINDER = (
    "Write <search> what to look for </search> to search, or <answer> the answer </answer> to answer; this was neither."
)


class NoSearchError(UnknownAgentError):
    """Nothing says where to search."""


@dataclass(frozen=True)
class Action:
    """What a turn of the policy asks for."""

    kind: Literal["search", "answer", "nothing"]
    text: str = ""


def action_of(text: str) -> Action:
    """Read a turn that ended before `</search>` or `</answer>`, or without them: the tag that was opened last counts.

    Turns are not read further than the first closing tag, so at most one is open. One that the policy left open when
    it ended its turn counts, too.
    """
    places = {kind: text.rfind(f"<{kind}>") for kind in ("search", "answer")}
    kind: Literal["search", "answer"] = "answer" if places["answer"] >= places["search"] else "search"
    if places[kind] < 0:
        return Action("nothing")
    return Action(kind, text[places[kind] + len(kind) + 2 :].strip())


class SearchR1Agent(Agent):
    """Takes the prompt of the data as it is; `INSTRUCTION` is what its messages should say.

    Each turn of the policy ends with the token that completes `</search>` or `</answer>`: what it was sampled to write
    after that is dropped, and neither shown to it again nor learned from. `<information>` comes in a message of the
    user's.

    Args:
        where: the address of a retrieval server, a file of documents, or anything with the method of a `Searcher`;
            None: what the key `search` of the configuration names (the variable `AGENTIC_RL_SEARCH`).
        topk: how many passages a search gives; None: `search_topk` (`AGENTIC_RL_SEARCH_TOPK`), or 3.
        match: whether an answer has to equal a right one or may have it in it; a row's `extra_info.match` wins.
        format_reward: what a wrong answer earns, since it was given in the right form.
        max_turns: the most turns of a rollout; None: only the configuration's `max_steps` limits them.

    Raises:
        NoSearchError: nothing says where to search, or it can't be opened.
    """

    def __init__(
        self,
        where: Searcher | str | os.PathLike[str] | None = None,
        topk: int | None = None,
        *,
        match: Match = "exact",
        format_reward: float = 0.0,
        max_turns: int | None = None,
    ) -> None:
        self.searcher = _searcher(where, topk)
        self.match = match
        self.format_reward = format_reward
        self.max_turns = max_turns

    async def run(self, task: Task, model: ChatModel) -> float:
        """Search until the policy answers or a budget ends, then judge the answer."""
        model.metrics |= {"searches": 0, "turns_without_action": 0}
        answer: str | None = None
        with contextlib.suppress(BudgetExhaustedError):
            answer = await self._answer(list(task.prompt), model)
        return self.reward(task, answer)

    def reward(self, task: Task, answer: str | None) -> float:
        """Judge the text between `<answer>` and `</answer>`; None: there was none."""
        if answer is None:
            return 0.0
        match = task.extra_info.get("match") or self.match
        if match not in MATCHES:
            raise ValueError(f"extra_info.match is {match!r}; it must be one of {', '.join(MATCHES)}")
        right = matches(answer, right_answers(task.ground_truth), match)
        return 1.0 if right else self.format_reward

    async def _answer(self, messages: list[Message], model: ChatModel) -> str | None:
        turn = 0
        while True:
            reply = await model.chat(messages, stop=STOPS)
            turn += 1
            action = action_of(reply.get("content") or "")
            cut_off = reply.get("finish_reason") == "length"
            if action.kind == "answer" and not cut_off:
                return action.text
            if cut_off or turn == self.max_turns:
                return None
            messages += [reply, {"role": "user", "content": await self._shown(action, model.metrics)}]

    async def _shown(self, action: Action, metrics: dict[str, Any]) -> str:
        """What the policy reads after a turn. A search that fails is no fault of the policy: it ends the rollout."""
        if action.kind == "nothing" or not action.text:
            metrics["turns_without_action"] += 1
            return REMINDER
        metrics["searches"] += 1
        return f"<information>\n{as_text(await self.searcher.search(action.text))}\n</information>"


def _searcher(where: Searcher | str | os.PathLike[str] | None, topk: int | None) -> Searcher:
    if where is None:
        where = os.environ.get(SEARCH, "").strip()
        if not where:
            raise NoSearchError(
                "the agent search_r1 is not told where to search; let the key `search` of the configuration (or the "
                f"variable {SEARCH}) name a file of documents (.jsonl, .parquet) or the address of a retrieval server "
                "(http://127.0.0.1:8000/retrieve)"
            )
    if not isinstance(where, (str, os.PathLike)):
        return where
    try:
        return open_searcher(os.fspath(where), _topk() if topk is None else topk)
    except (OSError, RuntimeError, ImportError, ValueError) as error:
        raise NoSearchError(f"the agent search_r1 can't search in {os.fspath(where)}: {error}") from error


def _topk() -> int:
    text = os.environ.get(SEARCH_TOPK, "").strip() or "3"
    if not text.isdecimal() or not int(text):
        raise ValueError(f"{SEARCH_TOPK} is {text!r}; it must be a whole number above 0")
    return int(text)
