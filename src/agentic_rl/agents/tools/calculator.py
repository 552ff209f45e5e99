"""Arithmetic on text, without `eval`: numbers, + - * / // % ** and parentheses, of bounded size."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable

from agentic_rl.agents.tool import tool

MAX_CHARACTERS = 200
MAX_DIGITS = 300
"""Integers beyond 10 to this power are refused: floats end there, too."""

_ALLOWED = re.compile(r"[0-9eE.+\-*/%()\s]+")
_LIMIT = 10**MAX_DIGITS
Number = int | float

_BINARY: dict[type[ast.operator], Callable[[Number, Number], Number]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}


@tool(inline=True)
def calculator(expression: str) -> str:
    """Evaluate an arithmetic expression.

    Args:
        expression: numbers, + - * / // % ** and parentheses, such as 12*7.
    """
    return calculate(expression)


def calculate(expression: str) -> str:
    """Evaluate `expression`: `12*7` gives `84`, `7/2` gives `3.5`, `8/2` gives `4`.

    Raises:
        ValueError: not arithmetic, division by zero, or a number beyond the bounds; the message says which.
    """
    if len(expression) > MAX_CHARACTERS:
        raise ValueError(f"the expression has {len(expression)} characters, at most {MAX_CHARACTERS} are allowed")
    if not _ALLOWED.fullmatch(expression):
        raise ValueError(f"{expression!r} may hold only numbers, + - * / // % ** and parentheses")
    try:
        tree = ast.parse(" ".join(expression.split()), mode="eval")
        return _text(_value(tree.body))
    except SyntaxError:
        raise ValueError(f"{expression!r} is not a complete expression") from None
    except ZeroDivisionError:
        raise ValueError(f"{expression!r} divides by zero") from None
    except OverflowError:
        raise ValueError(f"{expression!r} has a number that is too large") from None


def _value(node: ast.expr) -> Number:
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
        return _bounded(node.value)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
        value = _value(node.operand)
        return -value if isinstance(node.op, ast.USub) else value
    if isinstance(node, ast.BinOp):
        left, right = _value(node.left), _value(node.right)
        if isinstance(node.op, ast.Pow):
            return _bounded(_power(left, right))
        if type(node.op) in _BINARY:
            return _bounded(_BINARY[type(node.op)](left, right))
    raise ValueError(f"{ast.unparse(node)} is not arithmetic on numbers")


def _power(base: Number, exponent: Number) -> Number:
    """Refuse a power before it is computed: the result's size is known from its operands."""
    if isinstance(base, int) and isinstance(exponent, int) and exponent > 0:
        if base.bit_length() * exponent > _LIMIT.bit_length() and abs(base) > 1:
            raise OverflowError
        return int(base**exponent)
    result = base**exponent
    if isinstance(result, complex):
        raise ValueError(f"{base} ** {exponent} is not a real number")
    return float(result)


def _bounded(value: Number) -> Number:
    # Written as it is, not(...) also catches nan, which compares to nothing.
    if not -_LIMIT <= value <= _LIMIT:
        raise OverflowError
    return value


def _text(value: Number) -> str:
    """Whole numbers without a decimal point, others to 12 digits, so that 0.1+0.2 reads 0.3."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 10**15:
        return str(int(value))
    return str(value) if isinstance(value, int) else f"{value:.12g}"
