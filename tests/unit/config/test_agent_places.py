from __future__ import annotations

import sys
from pathlib import Path

import pytest

from agentic_rl.config.agent_names import is_known_agent
from agentic_rl.config.agent_places import is_place, place_problem


@pytest.fixture(autouse=True)
def _shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "shop_of_places"
    (folder / "inner").mkdir(parents=True)
    (folder / "__init__.py").write_text("raise RuntimeError('a check imports nothing')\n")
    (folder / "agents.py").write_text(
        "try:\n    import json as found\nexcept ImportError:\n    found = None\n"
        "class Shopper: ...\ndef make(): ...\nready: object = 1\none, (two, *rest) = 1, (2, 3)\nready.absent = 1\n"
    )
    (folder / "open.py").write_text("from elsewhere import *\n")
    (folder / "lazy.py").write_text("def __getattr__(name): ...\n")
    (folder / "broken.py").write_text("def (\n")
    (folder / "inner" / "deep.py").write_text("class Shopper: ...\n")
    monkeypatch.syspath_prepend(tmp_path)


@pytest.mark.parametrize(
    "name", ["math", "a.b", "a:", ":b", "a:b.c", "a-b:c", "a:b:c", "1a:b", "a..b:c", "a:b\n", "é:b"]
)
def test_other_names_are_no_places(name: str) -> None:
    assert not is_place(name)


@pytest.mark.parametrize(
    "place",
    [
        *(f"agents:{name}" for name in ("Shopper", "make", "ready", "found", "one", "two", "rest")),
        "open:Anything",
        "lazy:Anything",
        "broken:Anything",
        "inner.deep:Shopper",
    ],
)
def test_what_may_be_there_is_no_problem(place: str) -> None:
    assert is_place(f"shop_of_places.{place}")
    assert place_problem(f"shop_of_places.{place}") is None
    assert is_known_agent(f"shop_of_places.{place}")
    assert "shop_of_places" not in sys.modules


@pytest.mark.parametrize(
    ("place", "said", "remedy"),
    [
        ("no_shop:Shopper", "there is no module no_shop", "install its package"),
        ("shop_of_places.agent:Shopper", "there is no module shop_of_places.agent", "install its package"),
        ("shop_of_places.agents.more:Shopper", "there is no module shop_of_places.agents.more", "install its package"),
        ("shop_of_places.agents:Shoper", "has no Shoper", "agent_name: shop_of_places.agents:Shopper"),
        ("shop_of_places.agents:absent", "shop_of_places.agents has no absent", "name a class"),
        ("json:Shopper", "json has no Shopper", "name a class"),
        ("__main__.x:Shopper", "there is no module __main__", "install its package"),
    ],
)
def test_what_is_missing_is_named_with_its_remedy(place: str, said: str, remedy: str) -> None:
    problem = place_problem(place)
    assert problem is not None
    assert said in problem[0]
    assert remedy in problem[1]
    assert not is_known_agent(place)


def test_built_in_modules_are_left_open() -> None:
    assert place_problem("sys:anything") is None
