from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentic_rl.agents import Trajectory, UnknownAgentError, find_agent
from agentic_rl.agents.builtin.search_r1 import REMINDER, Action, SearchR1Agent, action_of
from agentic_rl.agents.tools.passages import Passage, SearchError
from agentic_rl.rollout.chat import ChatFormat
from agentic_rl.rollout.driver import Driver
from rollout_doubles import ScriptedEngine, make_task, make_tokenizer, spelled

TOKENIZER = make_tokenizer()
TRUTH = {"target": ["Bern", "the city of Bern"]}


class Shelf:
    """A searcher with one passage, or an error."""

    def __init__(self, error: Exception | None = None) -> None:
        self.queries: list[str] = []
        self._error = error

    async def search(self, query: str) -> list[Passage]:
        self.queries.append(query)
        if self._error:
            raise self._error
        return [Passage("Its capital is Bern.", "Switzerland")]


def play(agent: SearchR1Agent, replies: Sequence[Sequence[int]], *, extra: Any = None, **limits: Any) -> Trajectory:
    wanted = {"max_prompt_length": 512, "max_response_length": 2048, "max_tokens": 256, "max_steps": 9, **limits}
    driver = Driver(ScriptedEngine(replies), ChatFormat(TOKENIZER), **wanted)
    task = make_task("The capital?", ground_truth=TRUTH, extra_info=extra or {})
    (trajectory,) = asyncio.run(driver.run(agent, [task]))
    return trajectory


def ids(text: str, *, end: bool = True) -> list[int]:
    return spelled(TOKENIZER, text, end=end)


def test_it_searches_reads_and_answers() -> None:
    shelf = Shelf()
    replies = [ids("<think>hm</think><search> swiss capital </search>"), ids("<answer> The Bern! </answer>")]
    trajectory = play(SearchR1Agent(shelf), replies)
    assert (trajectory.error, trajectory.trajectory_reward) == ("", 1.0)
    assert shelf.queries == ["swiss capital"]
    assert trajectory.chat_completions[2]["content"] == (
        "<information>\nDoc 1 (Title: Switzerland): Its capital is Bern.\n</information>"
    )
    assert trajectory.metrics["searches"] == 1


@settings(max_examples=20, deadline=None)
@given(st.text("ab<>/ \n", max_size=30), st.booleans())
def test_what_follows_the_closing_tag_is_neither_kept_nor_shown(rest: str, end: bool) -> None:
    """The policy's tokens are those that it sampled, bit for bit, up to the one that completes the tag."""
    call = "<search>swiss</search>"
    replies = [ids(call + rest, end=end), ids("<answer>Bern</answer>")]
    trajectory = play(SearchR1Agent(Shelf()), replies)
    assert trajectory.error == ""
    assert trajectory.segments == []
    written = [token for token, own in zip(trajectory.response_tokens, trajectory.response_masks, strict=True) if own]
    assert written == ids(call, end=False) + ids("<answer>Bern</answer>", end=False)
    shown = TOKENIZER.decode(trajectory.response_tokens)
    assert shown.startswith(f"{call}<|im_end|>\n<|im_start|>user\n<information>")
    assert trajectory.response_logprobs[: len(call)] == [-0.001 * (place + 1) for place in range(len(call))]


def test_a_tag_may_end_within_a_token() -> None:
    """`h>abc` may be one token: it is kept whole, since a part of a token was never sampled."""
    joined = make_tokenizer()
    joined.add_tokens(["h>abc"])
    token = joined.convert_tokens_to_ids("h>abc")
    engine = ScriptedEngine([[*ids("<search>swiss</searc", end=False), token, *ids("more")], ids("<answer>x</answer>")])
    shelf = Shelf()
    driver = Driver(
        engine, ChatFormat(joined), max_prompt_length=99, max_response_length=999, max_tokens=99, max_steps=3
    )
    (trajectory,) = asyncio.run(driver.run(SearchR1Agent(shelf), [make_task(ground_truth="y")]))
    assert shelf.queries == ["swiss"]
    place = trajectory.response_masks.index(0)
    assert list(trajectory.response_tokens[place - 1 : place]) == [token]


@pytest.mark.parametrize(
    ("reply", "match", "reward"),
    [
        ("<answer>Bern</answer>", None, 1.0),
        ("<answer>bern.</answer>", "exact", 1.0),
        ("<answer>It is Bern, I think</answer>", "exact", 0.25),
        ("<answer>It is Bern, I think</answer>", "substring", 1.0),
        ("<answer>Bernice</answer>", "substring", 0.25),
        ("<answer></answer>", "substring", 0.25),
        ("<answer>Rome</answer><answer>Bern</answer>", None, 0.25),
    ],
)
def test_rewards(reply: str, match: str | None, reward: float) -> None:
    agent = SearchR1Agent(Shelf(), format_reward=0.25)
    assert play(agent, [ids(reply)], extra={"match": match}).trajectory_reward == reward


def test_without_a_tag_it_is_reminded_and_budgets_end_it() -> None:
    trajectory = play(SearchR1Agent(Shelf()), [ids("Bern?")], max_steps=3)
    assert (trajectory.error, trajectory.trajectory_reward) == ("", 0.0)
    assert trajectory.chat_completions[2]["content"] == REMINDER
    assert trajectory.metrics["turns_without_action"] == 3
    assert play(SearchR1Agent(Shelf(), max_turns=2), [ids("Bern?")]).metrics["turns"] == 2


def test_an_answer_that_the_budget_cut_off_is_none() -> None:
    trajectory = play(SearchR1Agent(Shelf()), [ids("<answer>Bern and so on")], max_tokens=12)
    assert (trajectory.trajectory_reward, trajectory.finish_reason) == (0.0, "length")


def test_a_search_that_fails_fails_the_rollout() -> None:
    trajectory = play(SearchR1Agent(Shelf(SearchError("no server"))), [ids("<search>x</search>")])
    assert "SearchError: no server" in trajectory.error


def test_an_unknown_way_to_match_is_refused() -> None:
    trajectory = play(SearchR1Agent(Shelf()), [ids("<answer>Bern</answer>")], extra={"match": "fuzzy"})
    assert "extra_info.match is 'fuzzy'; it must be one of exact, substring" in trajectory.error


@pytest.mark.parametrize(
    ("text", "action"),
    [
        ("<search> a b ", Action("search", "a b")),
        ("<think>x</think>\n<answer>y", Action("answer", "y")),
        ("<search>old <answer>y", Action("answer", "y")),
        ("nothing", Action("nothing")),
        ("<search>", Action("search", "")),
        ("search>a", Action("nothing")),
    ],
)
def test_the_tag_that_was_opened_last_counts(text: str, action: Action) -> None:
    assert action_of(text) == action


def test_where_to_search_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pytest.importorskip("bm25s")
    documents = tmp_path / "documents.jsonl"
    documents.write_text(json.dumps({"title": "Switzerland", "text": "Its capital is Bern."}) + "\n")
    monkeypatch.setenv("AGENTIC_RL_SEARCH", str(documents))
    monkeypatch.setenv("AGENTIC_RL_SEARCH_TOPK", "2")
    agent = find_agent("search_r1")
    assert isinstance(agent, SearchR1Agent)
    found = asyncio.run(agent.searcher.search("capital of Switzerland"))
    assert [one.text for one in found] == ["Its capital is Bern."]


@pytest.mark.parametrize(
    ("variables", "said"),
    [
        ({}, r"let the key `search` .*variable AGENTIC_RL_SEARCH\) name a file of documents"),
        ({"AGENTIC_RL_SEARCH": "/nowhere.jsonl"}, r"search_r1 can't search in /nowhere.jsonl: "),
        ({"AGENTIC_RL_SEARCH": "/nowhere.jsonl", "AGENTIC_RL_SEARCH_TOPK": "no"}, r"AGENTIC_RL_SEARCH_TOPK is 'no'"),
    ],
)
def test_what_is_missing_is_said_before_the_first_rollout(
    variables: dict[str, str], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AGENTIC_RL_SEARCH", raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(UnknownAgentError, match=said):
        find_agent("search_r1")
