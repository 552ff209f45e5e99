"""What can be wrong with one row in verl's layout, and with all ground truths of a file together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from agentic_rl.config.artifacts.data_pages import (
    EMPTY_PROMPT,
    NO_ANSWERS,
    NO_DATA_SOURCE,
    UNKNOWN_ROLE,
    WRONG_COLUMN_TYPE,
)
from agentic_rl.config.artifacts.tasks import ROLES
from agentic_rl.config.diagnostics import Finding
from agentic_rl.config.fields.wording import show
from agentic_rl.config.rules import Page
from agentic_rl.data.pages import MIXED_ANSWERS, NO_ANSWER, ODD_ROLES
from agentic_rl.data.reading import Row

Messages = list[dict[str, Any]]
_TYPES = {str: "text", bool: "truth value", int: "number", float: "number", list: "list", dict: "object"}


class Answers:
    """The ground truths of a file."""

    def __init__(self) -> None:
        self.types: Counter[str] = Counter()
        self._missing: list[Row] = []

    def add(self, row: Row) -> None:
        """Note the ground truth of a row."""
        model: Any = row.values.get("reward_model")
        truth = model.get("ground_truth") if isinstance(model, dict) else None
        empty = truth is None or truth in ("", [], {})
        self.types["none" if empty else _TYPES.get(type(truth), type(truth).__name__)] += 1
        if empty:
            self._missing.append(row)

    def findings(self, file: str) -> Iterator[Finding]:
        """What is wrong with them, when all are known."""
        kinds = sorted(kind for kind in self.types if kind != "none")
        if not kinds and self._missing:
            said = "reward_model.ground_truth is empty in every row"
            yield Finding(NO_ANSWERS.code, NO_ANSWERS.severity, "", said, "write the expected answers", file)
            return
        for row in self._missing:
            said = "reward_model.ground_truth is empty"
            yield _told(NO_ANSWER, row, "reward_model.ground_truth", said, "write the answer, or remove the row")
        if len(kinds) > 1:
            said = "reward_model.ground_truth is " + ", ".join(f"{kind} in {self.types[kind]:,} rows" for kind in kinds)
            yield Finding(MIXED_ANSWERS.code, MIXED_ANSWERS.severity, "", said, "write all of them as text", file)


def check_row(row: Row, column: str, answers: Answers) -> tuple[Messages, list[Finding]]:
    """Look at one row.

    Returns:
        Its messages, as far as they are any, and what is wrong.
    """
    messages, found = _messages(row, column)
    if column == "prompt":
        found += [*_columns(row), *(_order(row, messages) if not found else [])]
        answers.add(row)
    return messages, found


def clean(message: dict[str, Any]) -> dict[str, Any]:
    """A message without the nulls that parquet fills in."""
    return {key: value for key, value in message.items() if value is not None}


def _messages(row: Row, column: str) -> tuple[Messages, list[Finding]]:
    value = row.values.get(column)
    if not isinstance(value, list):
        kind = "missing" if value is None else f"a {type(value).__name__}"
        said = f"is {kind}; it has to be a list of messages with role and content"
        return [], [_told(EMPTY_PROMPT if value is None else WRONG_COLUMN_TYPE, row, column, said, "convert it")]
    messages = [one for one in value if isinstance(one, dict)]
    if len(messages) < len(value):
        said = "has something else than messages in its list"
        return messages, [_told(WRONG_COLUMN_TYPE, row, column, said, "write role and content of each message")]
    return messages, [*_contents(row, column, messages)]


def _contents(row: Row, column: str, messages: Messages) -> Iterator[Finding]:
    if not any(_said(message) for message in messages):
        said = "has no message" if not messages else "has no text in its messages"
        yield _told(EMPTY_PROMPT, row, column, said, "remove the row")
        return
    for place, message in enumerate(messages):
        role, content = message.get("role"), message.get("content")
        key = f"{column}[{place}]"
        if not isinstance(role, str):
            yield _told(WRONG_COLUMN_TYPE, row, f"{key}.role", f"is {show(role)}; it has to be text", "write it")
        elif role not in ROLES:
            said = f"is {show(role)}, which chat templates leave out or refuse"
            yield _told(UNKNOWN_ROLE, row, f"{key}.role", said, "system, user, assistant or tool")
        if not isinstance(content, str) and not (content is None and message.get("tool_calls")):
            kind = "missing" if content is None else f"a {type(content).__name__}"
            yield _told(WRONG_COLUMN_TYPE, row, f"{key}.content", f"is {kind}; it has to be text", "write it as text")


def _said(message: dict[str, Any]) -> bool:
    content = message.get("content")
    return bool(message.get("tool_calls")) or (bool(content.strip()) if isinstance(content, str) else bool(content))


def _order(row: Row, messages: Messages) -> Iterator[Finding]:
    roles = [message.get("role") for message in messages]
    said = ""
    if "system" in roles[1:]:
        said = "has a system message that is not the first one"
    elif "user" not in roles:
        said = "has no message of the user"
    elif roles[-1] == "assistant":
        said = "ends with a message of the assistant, and the policy's own comes next"
    if said:
        yield _told(ODD_ROLES, row, "prompt", said, "put the messages into the usual order")


def _columns(row: Row) -> Iterator[Finding]:
    source, extra, model = (row.values.get(name) for name in ("data_source", "extra_info", "reward_model"))
    if not isinstance(model, dict):
        said = f"is {'missing' if model is None else 'a ' + type(model).__name__}; it has to have ground_truth"
        yield _told(WRONG_COLUMN_TYPE, row, "reward_model", said, 'write {"style": "rule", "ground_truth": ...}')
    if source is not None and not isinstance(source, str):
        yield _told(WRONG_COLUMN_TYPE, row, "data_source", f"is {show(source)}; it has to be text", "write it as text")
    elif not source:
        yield _told(NO_DATA_SOURCE, row, "data_source", "is empty", "write where the task comes from")
    if extra is not None and not isinstance(extra, dict):
        said = f"is a {type(extra).__name__}; it has to be an object"
        yield _told(WRONG_COLUMN_TYPE, row, "extra_info", said, "write it as an object")


def _told(page: Page, row: Row, column: str, message: str, hint: str) -> Finding:
    return Finding(page.code, page.severity, f"{row.key}.{column}", message, hint, row.file, row.line)
