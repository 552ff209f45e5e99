from __future__ import annotations

import pytest

from agentic_rl.view.access import Access


@pytest.mark.parametrize(
    ("header", "fine"),
    [
        ("127.0.0.1:8421", True),
        ("localhost:1", True),
        ("[::1]:8421", True),
        ("evil.example:8421", False),
        ("", False),
        ("localhost.evil.example", False),
    ],
)
def test_without_a_token_only_this_machines_names_are_answered(header: str, fine: bool) -> None:
    assert Access("").names_this_machine(header) is fine
    assert Access("secret").names_this_machine(header)


def test_a_token_is_asked_for_beyond_loopback_and_differs_each_time() -> None:
    assert Access.on("127.0.0.1").token == ""
    first, second = Access.on("0.0.0.0"), Access.on("0.0.0.0")
    assert len(first.token) >= 32
    assert first.token != second.token


@pytest.mark.parametrize(
    ("token", "cookies", "admitted"),
    [
        ("secret", "", True),
        ("", "agentic_rl_view=secret", True),
        ("", "a=b; agentic_rl_view=secret", True),
        ("wrong", "", False),
        ("", "agentic_rl_view=wrong", False),
        ("", "", False),
        ("é\udc80", "=;", False),
    ],
)
def test_the_token_opens_the_page(token: str, cookies: str, admitted: bool) -> None:
    assert Access("secret").admits(token, cookies) is admitted
    assert Access("").admits(token, cookies)
