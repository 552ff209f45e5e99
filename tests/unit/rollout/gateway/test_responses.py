"""`/v1/responses` through the gateway."""

from __future__ import annotations

from typing import Any

import pytest

from agentic_rl.rollout.gateway.responses import read_input
from gateway_doubles import ANSWER, ARITHMETIC, CALL, FORMAT, Client, visit
from rollout_doubles import ScriptedEngine, call_text, spelled

FLAT = {"type": "function", "strict": True, **ARITHMETIC["function"]}  # type: ignore[dict-item]
SYSTEM, USER = {"role": "system", "content": "Be brief."}, {"role": "user", "content": "How many?"}


def test_a_conversation_with_a_tool_is_recorded_as_one_sequence() -> None:
    async def work(client: Client) -> None:
        items: list[Any] = [{"role": "user", "content": [{"type": "input_text", "text": "How many?"}]}]
        options: dict[str, Any] = {"model": "m", "instructions": "Be brief.", "tools": [FLAT], "include": []}
        first = await client.post("responses", input=items, **options)
        assert first["status"] == "completed"
        assert first["tools"][0]["name"] == "calculator"
        message, call = first["output"]
        assert message["content"][0]["text"] == "Let me see."
        assert (call["type"], call["name"], call["arguments"]) == (
            "function_call",
            "calculator",
            '{"expression": "12*7"}',
        )
        items += [message, call, {"type": "function_call_output", "call_id": call["call_id"], "output": "84"}]
        second = await client.post("responses", input=items, **options)
        (message,) = second["output"]
        assert message["content"][0]["text"] == "84 it is"
        assert second["usage"]["output_tokens"] == len(ANSWER)

    thinking = spelled(FORMAT.tokenizer, f"Let me see.{call_text('12*7')}")
    trajectory = visit(work, [thinking, ANSWER])
    assert len(trajectory.parts()) == 1
    assert list(trajectory.prompt_tokens) == list(FORMAT.initial_ids([SYSTEM, USER], [ARITHMETIC]))


def test_events_add_up_to_the_answer() -> None:
    async def work(client: Client) -> None:
        for kind in ("function_call", "message"):
            events = await client.stream("responses", input="How many?", tools=[FLAT])
            assert [event["sequence_number"] for event in events] == list(range(len(events)))
            kinds = [event["type"] for event in events]
            assert (kinds[:2], kinds[-1]) == (["response.created", "response.in_progress"], "response.completed")
            assert events[0]["response"]["output"] == []
            done = next(event["item"] for event in events if event["type"] == "response.output_item.done")
            assert (done["type"], events[-1]["response"]["output"]) == (kind, [done])
            deltas = [event["delta"] for event in events if event["type"].endswith(".delta")]
            assert "".join(deltas) == (done["arguments"] if kind == "function_call" else done["content"][0]["text"])

    visit(work, [CALL, ANSWER])


def test_an_answer_that_is_cut_is_incomplete() -> None:
    async def work(client: Client) -> None:
        answer = await client.post("responses", input="x", max_output_tokens=3)
        assert (answer["status"], answer["incomplete_details"]) == ("incomplete", {"reason": "max_output_tokens"})
        events = await client.stream("responses", input="x", max_output_tokens=3)
        assert events[-1]["type"] == "response.incomplete"

    visit(work, [ANSWER])


def test_log_probabilities_come_when_included() -> None:
    async def work(client: Client) -> None:
        answer = await client.post("responses", input="x", include=["message.output_text.logprobs"])
        assert len(answer["output"][0]["content"][0]["logprobs"]) == len(ANSWER)

    visit(work, [ANSWER])


def test_items_of_one_turn_are_one_message() -> None:
    call = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}
    answer = {"type": "function_call_output", "call_id": "c", "output": [{"type": "input_text", "text": "1"}]}
    read = read_input([{"role": "user", "content": "q"}, call, {**call, "call_id": "d"}, answer])
    assert [message["role"] for message in read] == ["user", "assistant", "tool"]
    assert [one["id"] for one in read[1]["tool_calls"]] == ["c", "d"]
    assert read[2] == {"role": "tool", "tool_call_id": "c", "content": "1"}


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({"input": None}, "input"),
        ({"input": []}, "input"),
        ({"input": [{"type": "reasoning"}]}, "input[0].type"),
        ({"input": [7]}, "input[0].type"),
        ({"previous_response_id": "resp_1"}, "previous_response_id"),
        ({"text": {"format": {"type": "json_schema"}}}, "text.format"),
        ({"text": {"verbosity": "low"}}, "text.verbosity"),
        ({"reasoning": {"effort": "low"}}, "reasoning"),
        ({"include": ["file_search_call.results"]}, "include"),
        ({"background": True}, "background"),
        ({"truncation": "auto"}, "truncation"),
        ({"tools": [{"type": "web_search"}]}, "tools[0].type"),
        ({"n": 2}, "n"),
    ],
)
def test_what_can_not_be_followed_is_refused(body: dict[str, Any], param: str) -> None:
    async def work(client: Client) -> None:
        status, error = await client.refusal("responses", **{"input": "x", **body})
        assert (status, error["param"]) == (400, param)

    visit(work, ScriptedEngine([ANSWER]))
