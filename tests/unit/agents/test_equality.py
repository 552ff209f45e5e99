from __future__ import annotations

import subprocess
import sys
import threading

import pytest

from agentic_rl.agents.equality import boxed, same_answer


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        (r"\boxed{84}", "84"),
        (r"first \boxed{1}, then \boxed{ 2 }.", "2"),
        (r"\boxed{\frac{1}{2}}", r"\frac{1}{2}"),
        (r"\boxed{3} and \boxed{4", "3"),
        (r"\boxed{\boxed{5}}", "5"),
        (r"\boxed 84", None),
        ("84", None),
        (r"\boxed{}", ""),
        ("", None),
    ],
)
def test_the_last_complete_box_counts(text: str, answer: str | None) -> None:
    assert boxed(text) == answer


@pytest.mark.parametrize(
    ("answer", "truth", "same"),
    [
        ("84", "84", True),
        ("84.0", "84", True),
        ("$84$.", "84", True),
        ("1,234", "1234", True),
        ("1{,}234", "1234", True),
        ("1/2", "0.5", True),
        (r"\frac{1}{2}", "0.5", True),
        (r"-\dfrac{3}{4}", "-0.75", True),
        ("+7", "7", True),
        ("85", "84", False),
        ("12*7", "84", False),
        ("12,34", "1234", False),
        ("8 4 apples", "84", False),
        ("", "84", False),
        ("1/0", "84", False),
        ("84", "1/0", False),
        ("x", "y", False),
        (r"\sqrt{4}", "2", True),
        (r"2\sqrt{2}", r"\sqrt{8}", True),
        ("(1,2)", "(1, 2)", True),
        ("x+1", "1+x", True),
        ("9" * 400, "9" * 400, True),
        ("9" * 400, "8" * 400, False),
    ],
)
def test_equality(answer: str, truth: str, same: bool) -> None:
    assert same_answer(answer, truth) is same


def test_plain_numbers_never_import_the_verifier() -> None:
    code = (
        "import sys; from agentic_rl.agents.equality import same_answer; "
        r"print([same_answer(x, '84') for x in ('84', '85', '', '12*7', 'the 8', '8\\boxed{')],"
        "'math_verify' in sys.modules)"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert shown.strip() == "[True, False, False, False, False, False] False"


def test_any_thread_may_compare() -> None:
    found = []
    thread = threading.Thread(target=lambda: found.append((same_answer("x+1", "1+x"), same_answer("x+2", "1+x"))))
    thread.start()
    thread.join()
    assert found == [(True, False)]


@pytest.mark.parametrize("answer", ["\ud800", "9^{9^{9^{9}}}", "\n", r"\frac" * 40, "\0"])
def test_hostile_answers_are_wrong_and_the_next_one_is_compared(answer: str) -> None:
    assert same_answer(answer, "x+1") is False
    assert same_answer("x+1", "1+x") is True
