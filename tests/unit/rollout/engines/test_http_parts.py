"""Addresses, waits and Retry-After, without a server."""

from __future__ import annotations

import pytest

from agentic_rl.rollout.engines.http_faults import Backoff, ServerBusyError, ServerFaultError, retry_after
from agentic_rl.rollout.engines.http_servers import server_urls


def test_addresses_may_be_short_or_whole() -> None:
    given = ["localhost:8000", "http://[::1]:1/", "https://host/v1", "http://host/base/v1/"]
    assert server_urls(given) == ["http://localhost:8000", "http://[::1]:1", "https://host", "http://host/base"]


@pytest.mark.parametrize(
    "address", ["", "ftp://host", "http://", "http://host?x=1", "http://me:word@host", "http://[::1"]
)
def test_what_is_no_address_is_refused(address: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        server_urls([address])


def test_a_server_is_named_once() -> None:
    with pytest.raises(ValueError, match="named twice"):
        server_urls(["host:1", "http://host:1/v1"])


def test_waits_double_with_jitter_and_end_at_the_longest() -> None:
    backoff, fault = Backoff(0.1, 2.0), ServerFaultError("")
    for tries, middle in ((1, 0.1), (2, 0.2), (4, 0.8)):
        waits = [backoff.seconds(tries, fault) for _ in range(200)]
        assert middle / 2 <= min(waits) < middle * 0.6
        assert middle * 1.4 < max(waits) <= middle * 1.5
    assert max(backoff.seconds(60, fault) for _ in range(50)) == 2.0
    assert 1.05 <= backoff.seconds(1, ServerBusyError("", 1.0)) <= 1.15
    assert backoff.seconds(1, ServerBusyError("", 1e9)) == 2.0


@pytest.mark.parametrize("text", ["", "soon", "-3", "nan", "inf", "Wed, 21 Oct 2015 07:28:00 GMT"])
def test_a_retry_after_that_says_nothing_is_no_wait(text: str) -> None:
    assert retry_after(text) == 0


def test_retry_after_is_seconds_or_a_date() -> None:
    assert retry_after("1.5") == 1.5
    assert retry_after("Wed, 21 Oct 2099 07:28:00 GMT") > 1e9
