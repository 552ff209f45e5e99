"""Errors of YAML syntax in the words of the person who wrote the file: where it is, what it usually is, what to do."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

import yaml

from agentic_rl.config.source.nodes import Remark
from agentic_rl.config.source.text import Position

SYNTAX = "ARL004"


class Cause(NamedTuple):
    """The usual reason of a syntax error."""

    message: str
    hint: str
    position: Position | None = None
    """Where the reason stands, if it isn't where the parser stopped."""


class Trouble(NamedTuple):
    """What the parser says, for the functions that look for its reason. Lines are counted from 0."""

    problem: str
    lines: Sequence[str]
    stopped: tuple[int, int]
    began: tuple[int, int] | None

    def line(self, number: int) -> str:
        """A line of the text, or nothing beyond its end."""
        return self.lines[number] if 0 <= number < len(self.lines) else ""

    def suspects(self) -> list[int]:
        """The lines where the reason may stand: where the parser began, stopped, and what is written above."""
        above = self.stopped[0] - 1
        while above > 0 and not self.line(above).strip():
            above -= 1
        began = [self.began[0]] if self.began else []
        return list(dict.fromkeys([self.stopped[0], *began, above]))


def explain(error: Exception, lines: Sequence[str]) -> Remark:
    """The remark for what PyYAML raised while parsing `lines`."""
    trouble = _trouble(error, lines)
    for look in _LOOKS:
        cause = look(trouble)
        if cause is not None:
            break
    else:
        cause = Cause(trouble.problem, "compare this line and the one above it with a file that works")
    position = cause.position or _start(*trouble.stopped)
    if position.line > len(lines):  # the parser counts a line after the last one
        position = Position(len(lines), len(lines[-1]) + 1)
    return Remark(SYNTAX, f"not valid YAML: {cause.message}", cause.hint, position)


def mistyped_pair(line: str) -> Cause | None:
    """What is wrong with a line that was meant as `key: value` and is not."""
    missing_space = re.match(r"\s*(?:- +)?([A-Za-z_][\w.-]*):(?!//)([^\s:].*)", line)
    if missing_space:
        key, value = missing_space.groups()
        return Cause("there is no space after the colon", f"{key}: {value.strip()}")
    wide = re.match(r"\s*([A-Za-z_][\w.-]*)\s*：\s*(.*)", line)
    if wide:
        return Cause("the colon is a full-width one (：)", f"{wide[1]}: {wide[2].strip()}")
    equals = re.match(r"\s*([A-Za-z_][\w.-]*)\s*=\s*([^=].*)", line)
    if equals:
        return Cause("a value follows its key after a colon, not after =", f"{equals[1]}: {equals[2].strip()}")
    return None


def _trouble(error: Exception, lines: Sequence[str]) -> Trouble:
    if not isinstance(error, yaml.MarkedYAMLError):
        return Trouble(str(error), lines, (0, 0), None)
    stop = error.problem_mark or error.context_mark
    began = error.context_mark
    problem = ": ".join(str(part) for part in (error.context, error.problem) if part)
    return Trouble(
        problem,
        lines,
        (stop.line, stop.column) if stop else (0, 0),
        (began.line, began.column) if began else None,
    )


def _nesting(trouble: Trouble) -> Cause | None:
    if "nesting depth" not in trouble.problem:
        return None
    return Cause("it nests too deeply", "check the file: this is not a configuration that was meant")


def _merge_conflict(trouble: Trouble) -> Cause | None:
    for number in trouble.suspects():
        if re.match(r"(<{7}|={7}|>{7})( |$)", trouble.line(number)):
            return Cause("a merge conflict was left here", "choose one side and remove the marks", _start(number, 0))
    return None


def _tab(trouble: Trouble) -> Cause | None:
    row, column = trouble.stopped
    for number, here in ((row, trouble.line(row)[column : column + 1]), (row, ""), (row - 1, "")):
        line = trouble.line(number)
        indent = line[: len(line) - len(line.lstrip())]
        at = column if here == "\t" else indent.find("\t")
        if at >= 0 and line.strip():
            return Cause("a tab; YAML takes spaces only", "replace the tab by spaces", _start(number, at))
    return None


def _invisible(trouble: Trouble) -> Cause | None:
    for number in trouble.suspects():
        found = re.search("[\xa0\u200b\u3000]", trouble.line(number))
        if found:
            name = f"U+{ord(found[0]):04X}"
            return Cause(
                f"a character that looks like a space but is none ({name})",
                "replace it by a space",
                _start(number, found.start()),
            )
    return None


def _open_quote(trouble: Trouble) -> Cause | None:
    if "quoted scalar" in trouble.problem and "end of" in trouble.problem and trouble.began:
        row, column = trouble.began
        quote = trouble.line(row)[column : column + 1]
        return Cause(f"the quote {quote} that opens here is never closed", "close it", _start(row, column))
    return None


def _escape(trouble: Trouble) -> Cause | None:
    if "escape" not in trouble.problem and "hexdecimal" not in trouble.problem:
        return None
    return Cause(
        "\\ begins an escape inside double quotes, and this is none that YAML knows",
        "use single quotes, or write \\\\",
    )


def _open_bracket(trouble: Trouble) -> Cause | None:
    match = re.search(r"while parsing a flow (sequence|mapping)", trouble.problem)
    if not match or not trouble.began:
        return None
    opening, closing = ("[", "]") if match[1] == "sequence" else ("{", "}")
    row, column = trouble.began
    return Cause(
        f"the {opening} that opens here is not closed, or a comma is missing after it",
        f"close it with {closing}, with a comma between the items",
        _start(row, column),
    )


def _unfinished(trouble: Trouble) -> Cause | None:
    at_end = not "".join(trouble.lines[trouble.stopped[0] :])[trouble.stopped[1] :].strip()
    if "flow" not in trouble.problem or not at_end:
        return None
    return Cause("the text ends inside brackets", "close the list with ] or the section with }")


def _mistyped(trouble: Trouble) -> Cause | None:
    for number in trouble.suspects():
        cause = mistyped_pair(trouble.line(number))
        if cause is not None:
            line = trouble.line(number)
            return cause._replace(position=_start(number, len(line) - len(line.lstrip())))
    return None


def _two_colons(trouble: Trouble) -> Cause | None:
    row, column = trouble.stopped
    line = trouble.line(row)
    if "mapping values are not allowed" not in trouble.problem or ": " not in line[:column] + " ":
        return None
    value = line.partition(":")[2].strip()
    return Cause(
        "a second colon in one line", f"one key a line; if the colon belongs to the value, quote it: '{value}'"
    )


def _too_deep(trouble: Trouble) -> Cause | None:
    if "mapping values are not allowed" not in trouble.problem:
        return None
    return Cause(
        "this line is indented under a key that already has a value",
        "indent it like the line above it, or give the key above it no value of its own",
    )


def _alias(trouble: Trouble) -> Cause | None:
    if "scanning an alias" not in trouble.problem and "scanning an anchor" not in trouble.problem:
        return None
    return Cause("a value that begins with * or & is an alias or an anchor", "quote it")


def _reserved(trouble: Trouble) -> Cause | None:
    row, column = trouble.stopped
    start = trouble.line(row)[column : column + 1]
    if "cannot start any token" not in trouble.problem or not start:
        return None
    return Cause(f"a value can't begin with {start}", "quote the value")


def _after_quote(trouble: Trouble) -> Cause | None:
    row, column = trouble.stopped
    before = trouble.line(row)[:column].rstrip()
    if "did not find expected key" not in trouble.problem and "expected <block end>" not in trouble.problem:
        return None
    if not before.endswith(("'", '"')):
        return None
    return Cause(
        "text follows the closing quote",
        "quote the whole value; inside single quotes a single quote is written twice",
    )


def _no_colon(trouble: Trouble) -> Cause | None:
    if "could not find expected ':'" not in trouble.problem or not trouble.began:
        return None
    return Cause("a key without a colon and a value", "key: value, or remove the line", _start(*trouble.began))


def _list_item(trouble: Trouble) -> Cause | None:
    row, column = trouble.stopped
    if "entries are not allowed" in trouble.problem:
        return Cause("a list begins on the line of its key", "begin it on the next line, or write [item, item]")
    if not re.match(r"-( |$)", trouble.line(row)[column:]):
        return None
    return Cause("a list item among keys", "indent the list under its key, or remove the -")


def _indentation(trouble: Trouble) -> Cause | None:
    words = ("did not find expected key", "expected <block end>", "did not find expected '-'", "<document start>")
    if not any(word in trouble.problem for word in words):
        return None
    return Cause(
        "the indentation is not that of the list or section above",
        "indent it like the keys beside it; the keys of a section stand two spaces deeper than its name",
    )


def _start(row: int, column: int) -> Position:
    return Position(row + 1, column + 1)


_LOOKS: tuple[Callable[[Trouble], Cause | None], ...] = (
    _nesting,
    _merge_conflict,
    _open_quote,
    _escape,
    _tab,
    _invisible,
    _mistyped,
    _open_bracket,
    _unfinished,
    _two_colons,
    _too_deep,
    _alias,
    _reserved,
    _after_quote,
    _no_colon,
    _list_item,
    _indentation,
)
