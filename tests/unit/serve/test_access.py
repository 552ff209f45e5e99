"""Who may use a service, and where its token comes from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agentic_rl.config.diagnostics import ConfigError
from agentic_rl.serve.access import NAME, TOKEN, TOKEN_FILE, Access, access_on
from serve_doubles import Parts, Service, serving

SECRET = "a-token-of-enough-length"


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost"])
def test_on_loopback_no_token_is_needed(tmp_path: Path, host: str) -> None:
    assert access_on(host, str(tmp_path), {}) == Access()
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.1.2.3", "example.org"])
def test_beyond_loopback_a_token_is_made_once_and_kept_for_owner_and_group(tmp_path: Path, host: str) -> None:
    first = access_on(host, str(tmp_path), {})
    assert len(first.token) >= 32
    file = tmp_path / NAME
    assert file.stat().st_mode & 0o777 == 0o640
    assert str(file) in first.told
    assert first.token not in first.told
    assert access_on(host, str(tmp_path), {}).token == first.token == file.read_text().strip()


def test_a_token_of_the_environment_holds_on_every_host(tmp_path: Path) -> None:
    for host in ("0.0.0.0", "127.0.0.1"):
        assert access_on(host, str(tmp_path), {TOKEN: SECRET}, insecure=True).token == SECRET
    assert not list(tmp_path.iterdir())


def test_a_token_of_a_file(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text(f"{SECRET}\n")
    file.chmod(0o640)
    assert access_on("0.0.0.0", "/nowhere", {TOKEN_FILE: str(file)}).token == SECRET


def test_insecure_asks_for_none(tmp_path: Path) -> None:
    assert access_on("0.0.0.0", str(tmp_path), {}, insecure=True) == Access(any_host=True)


def _readable_by_all(folder: Path) -> dict[str, str]:
    file = folder / NAME
    file.write_text(SECRET)
    file.chmod(0o644)
    return {}


def _link(folder: Path) -> dict[str, str]:
    (folder / "elsewhere").write_text(SECRET)
    (folder / NAME).symlink_to(folder / "elsewhere")
    return {}


def _short(folder: Path) -> dict[str, str]:
    return {TOKEN: "secret"}


def _two_words(folder: Path) -> dict[str, str]:
    return {TOKEN: "correct horse battery staple"}


def _missing(folder: Path) -> dict[str, str]:
    return {TOKEN_FILE: str(folder / "none")}


@pytest.mark.parametrize("prepare", [_readable_by_all, _link, _short, _two_words, _missing])
def test_a_token_that_is_not_safe_is_refused(tmp_path: Path, prepare: Any) -> None:
    environ = prepare(tmp_path)
    with pytest.raises(ConfigError) as caught:
        access_on("0.0.0.0", str(tmp_path), environ)
    (finding,) = caught.value.report
    assert finding.code == "ARL702"
    assert finding.hint
    assert SECRET not in str(caught.value)


def test_a_token_that_can_not_be_written_is_a_finding(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=TOKEN):
        access_on("0.0.0.0", str(tmp_path / "missing"), {})


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 401),
        ({"Authorization": f"Bearer {SECRET}x"}, 401),
        ({"Authorization": SECRET}, 401),
        ({"Authorization": f"Basic {SECRET}"}, 401),
        ({"Authorization": b"Bearer \xff\xfe"}, 401),
        ({"Authorization": f"bearer {SECRET}"}, 200),
        ({"Authorization": f"Bearer {SECRET}", "Origin": "https://example.org", "Host": "example.org"}, 200),
    ],
)
def test_with_a_token_only_who_has_it_is_answered(tmp_path: Path, headers: Any, status: int) -> None:
    async def body(running: Service) -> None:
        answer = await running.client.get("/v1/models", headers=headers)
        assert answer.status_code == status
        assert (answer.headers.get("www-authenticate") == "Bearer") == (status == 401)
        for path in ("/health", "/docs", "/openapi.json"):
            assert (await running.client.get(path, headers=headers)).status_code == 200
        assert (await running.client.get("/metrics", headers=headers)).status_code == status

    serving(Parts(tmp_path, access=Access(SECRET)), body)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Host": "localhost:8030"}, 200),
        ({"Host": "[::1]:8030"}, 200),
        ({"Host": "evil.example"}, 403),
        ({"Origin": "https://evil.example"}, 403),
        ({"Sec-Fetch-Mode": "no-cors"}, 403),
    ],
)
def test_without_a_token_pages_of_the_web_are_refused(tmp_path: Path, headers: Any, status: int) -> None:
    async def body(running: Service) -> int:
        return (await running.client.get("/v1/models", headers=headers)).status_code

    assert serving(Parts(tmp_path), body) == status
