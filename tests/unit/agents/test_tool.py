from __future__ import annotations

import asyncio
import threading
import time
from typing import Any, Literal

import pytest

from agentic_rl.agents import Tool, ToolResult, tool
from agentic_rl.agents.calls import DEFAULT_TIMEOUT
from agentic_rl.agents.tool import MAX_RESULT_CHARACTERS


def call(one: Tool, arguments: Any) -> ToolResult:
    return asyncio.run(one.call(arguments))


@tool
def weather(city: str, unit: Literal["c", "f"] = "c", days: list[int] | None = None) -> dict[str, Any]:
    """Tell the weather.

    It knows every city.

    Args:
        city: the city's name,
            in English.
        unit (str): degrees.

    Returns:
        a report.
    """
    return {"city": city, "unit": unit, "days": days}


def test_the_schema_comes_from_signature_and_docstring() -> None:
    assert weather.schema == {
        "type": "function",
        "function": {
            "name": "weather",
            "description": "Tell the weather. It knows every city.",
            "parameters": {
                "type": "object",
                "properties": {
                    "city": {"type": "string", "description": "the city's name, in English."},
                    "unit": {"type": "string", "default": "c", "description": "degrees.", "enum": ["c", "f"]},
                    "days": {
                        "anyOf": [{"type": "array", "items": {"type": "integer"}}, {"type": "null"}],
                        "default": None,
                    },
                },
                "required": ["city"],
            },
        },
    }


def test_an_argument_may_be_called_title() -> None:
    @tool
    def book(title: str) -> str:
        return title

    assert book.parameters["properties"] == {"title": {"type": "string"}}
    assert call(book, {"title": "Emma"}).text == "Emma"


def test_a_tool_is_still_the_function() -> None:
    assert weather("Oslo")["city"] == "Oslo"


def test_results_that_are_not_text_become_json() -> None:
    assert call(weather, '{"city": "Zürich"}') == ToolResult('{"city": "Zürich", "unit": "c", "days": null}')


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("{}", "city: Field required"),
        ('{"city": "Oslo", "town": 1}', "town: Extra inputs are not permitted"),
        ('{"city": "Oslo", "unit": "k"}', "unit: Input should be 'c' or 'f'"),
        ('{"city": "Oslo", "days": ["x"]}', "days.0: Input should be a valid integer"),
        ("[1]", "arguments: "),
        ("{", "arguments: Invalid JSON"),
        ({"city": 3}, "city: Input should be a valid string"),
    ],
)
def test_wrong_arguments_become_text_for_the_model(arguments: Any, said: str) -> None:
    result = call(weather, arguments)
    assert not result.ok
    assert result.text.startswith("Error: wrong arguments for weather: ")
    assert said in result.text


def test_exceptions_become_text_for_the_model() -> None:
    @tool
    def divide(a: float) -> float:
        return 1 / a

    assert call(divide, {"a": 0}) == ToolResult("Error: ZeroDivisionError: float division by zero", ok=False)


def test_sync_tools_run_beside_the_event_loop_and_inline_tools_on_it() -> None:
    @tool
    def beside() -> int:
        return threading.get_ident()

    @tool(inline=True)
    def inline() -> int:
        return threading.get_ident()

    assert call(beside, {}).text != str(threading.get_ident())
    assert call(inline, {}).text == str(threading.get_ident())


def test_blocking_tools_run_at_the_same_time() -> None:
    gate = threading.Barrier(8, timeout=10)

    @tool
    def wait() -> int:
        return gate.wait()

    async def together() -> list[ToolResult]:
        return await asyncio.gather(*(wait.call({}) for _ in range(8)))

    assert all(result.ok for result in asyncio.run(together()))


def test_a_late_async_tool_is_cancelled_and_says_so() -> None:
    cancelled = []

    @tool(timeout=0.02)
    async def slow() -> str:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            cancelled.append(True)
            raise
        return "never"

    assert call(slow, {}) == ToolResult("Error: slow took longer than 0.02 s", ok=False)
    assert cancelled


def test_a_late_blocking_tool_is_given_up() -> None:
    released = threading.Event()

    @tool(timeout=0.02)
    def stuck() -> bool:
        return released.wait(30)

    start = time.monotonic()
    assert call(stuck, {}).text == "Error: stuck took longer than 0.02 s"
    assert time.monotonic() - start < 5
    released.set()


def test_the_drivers_time_out_holds_where_the_tool_has_none() -> None:
    @tool
    async def slow() -> None:
        await asyncio.sleep(60)

    async def bounded() -> ToolResult:
        DEFAULT_TIMEOUT.set(0.02)
        return await slow.call({})

    assert asyncio.run(bounded()).text == "Error: slow took longer than 0.02 s"


def test_long_results_lose_their_middle() -> None:
    @tool
    def much() -> str:
        return "a" * 10**6 + "z"

    text = call(much, {}).text
    assert len(text) < MAX_RESULT_CHARACTERS + 100
    assert text.startswith("aaa")
    assert text.endswith("az")
    assert f"[{10**6 + 1 - MAX_RESULT_CHARACTERS} characters left out]" in text


def test_what_can_not_be_described_is_refused() -> None:
    def untyped(x):  # type: ignore[no-untyped-def]
        return x

    def spread(*xs: int) -> int:
        return sum(xs)

    with pytest.raises(TypeError, match="untyped: x has no type"):
        tool(untyped)
    with pytest.raises(TypeError, match=r"spread: \*xs: ?'?int'? can't be described"):
        tool(spread)
