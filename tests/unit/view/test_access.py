from __future__ import annotations

import pytest

from agentic_rl.view.access import Access, is_loopback


@pytest.mark.parametrize(
    ("host", "loopback"),
    [
        ("127.0.0.1", True),
        ("127.9.9.9", True),
        ("localhost", True),
        ("::1", True),
        ("[::1]", True),
        ("0.0.0.0", False),
        ("::", False),
        ("192.168.0.1", False),
        ("localhost.example.org", False),
        ("127.0.0.1.example.org", False),
        ("", False),
    ],
)
def test_who_can_reach_an_address(host: str, loopback: bool) -> None:
    assert is_loopback(host) is loopback


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
