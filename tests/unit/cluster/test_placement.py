"""Executors on a Ray cluster; a double stands for ray, whose own tests are among the integration tests."""

from __future__ import annotations

import builtins
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from agentic_rl.cluster.placement import Cluster, PlacementError, Resources


class Worker:
    def __init__(self, number: int) -> None:
        self.number = number


class GetTimeoutError(Exception):
    pass


@dataclass
class Ray:
    """What `Cluster` uses of ray: places bundles as long as there is room, and starts no process."""

    whole: dict[str, float]
    slow: bool = False
    free: dict[str, float] = field(default_factory=dict)
    waited: list[float] = field(default_factory=list)
    started: list[tuple[dict[str, Any], Any]] = field(default_factory=list)
    killed: list[Any] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.free = dict(self.whole)
        self.exceptions = SimpleNamespace(GetTimeoutError=GetTimeoutError)
        scheduling = SimpleNamespace(PlacementGroupSchedulingStrategy=lambda **given: given)
        self.util = SimpleNamespace(
            placement_group=self._group, remove_placement_group=self._remove, scheduling_strategies=scheduling
        )

    def _group(self, bundles: list[dict[str, float]], strategy: str) -> Any:
        wanted: dict[str, float] = {}
        for bundle in bundles:
            for name, amount in bundle.items():
                wanted[name] = wanted.get(name, 0) + amount
        fits = all(self.free.get(name, 0) >= amount for name, amount in wanted.items())
        if fits:
            self.free = {name: amount - wanted.get(name, 0) for name, amount in self.free.items()}

        def wait(timeout_seconds: float) -> bool:
            self.waited.append(timeout_seconds)
            return fits

        return SimpleNamespace(wait=wait, wanted=wanted if fits else {})

    def _remove(self, group: Any) -> None:
        self.free = {name: amount + group.wanted.get(name, 0) for name, amount in self.free.items()}

    def remote(self, actor: type) -> Any:
        def options(**given: Any) -> Any:
            def start(*arguments: Any) -> Any:
                made = actor(*arguments)
                self.started.append((given, made))
                return SimpleNamespace(ready=SimpleNamespace(remote=lambda: f"ready {made.number}"), made=made)

            return SimpleNamespace(remote=start)

        return SimpleNamespace(options=options)

    def get(self, references: list[Any], timeout: float) -> list[Any]:
        if self.slow:
            raise GetTimeoutError
        return references

    def kill(self, handle: Any) -> None:
        self.killed.append(handle.made.number)

    def cluster_resources(self) -> dict[str, float]:
        return self.whole

    def available_resources(self) -> dict[str, float]:
        return self.free


def test_the_resources_of_an_instance_are_shared_out_among_its_executors() -> None:
    asked = Resources.of(2, [{"NPU": 4}, {"CPU": 1}, {"NPU": 2}])
    assert asked.amounts == {"NPU": 6, "CPU": 1}
    assert asked.share() == {"NPU": 3, "CPU": 0.5}
    assert str(asked) == "2 executors with CPU: 1, NPU: 6"


@pytest.mark.parametrize(
    ("executors", "info", "wants"), [(1, [], False), (2, [], True), (1, [{"NPU": 1}], True), (1, [{"CPU": 0.5}], True)]
)
def test_ray_is_wanted_only_where_something_has_to_be_placed(executors: int, info: Any, wants: bool) -> None:
    assert Resources.of(executors, info).wants_ray is wants


@pytest.mark.parametrize(
    ("executors", "info", "hint"),
    [
        (2, [{"NPU": 3}], "- NPU: 4"),
        (1, [{"NPU": 0}], "- NPU: 1"),
        (1, [{"NPU": -1}], "- NPU: 1"),
        (1, [{"NPU": "4"}], "- NPU: 1"),
        (1, [{"NPU": True}], "- NPU: 1"),
        (1, [{"NPU": float("nan")}], "- NPU: 1"),
    ],
)
def test_amounts_that_can_not_be_placed_are_refused_with_one_that_can(executors: int, info: Any, hint: str) -> None:
    with pytest.raises(PlacementError) as caught:
        Resources.of(executors, info)
    assert caught.value.hint == hint


def test_each_executor_gets_its_share_at_its_own_place() -> None:
    ray = Ray({"NPU": 8, "CPU": 4, "GPU": 2})
    cluster = Cluster(ray)
    asked = Resources.of(2, [{"NPU": 4}, {"GPU": 2}])
    started = cluster.start(Worker, [(0,), (1,)], asked, seconds=7)
    assert [(handle.made.number, ready) for handle, ready in started] == [(0, "ready 0"), (1, "ready 1")]
    given = [options for options, _ in ray.started]
    assert [(one["num_cpus"], one["num_gpus"], one["resources"]) for one in given] == [(0, 1, {"NPU": 2})] * 2
    assert [one["scheduling_strategy"]["placement_group_bundle_index"] for one in given] == [0, 1]
    assert ray.waited == [7]
    assert ray.free == {"NPU": 4, "CPU": 4, "GPU": 0}
    cluster.close()
    assert ray.free == ray.whole


def test_executors_without_resources_are_spread_and_nothing_is_held() -> None:
    ray = Ray({"CPU": 4})
    Cluster(ray).start(Worker, [(0,), (1,)], Resources.of(2, []), seconds=7)
    assert [options["scheduling_strategy"] for options, _ in ray.started] == ["SPREAD"] * 2
    assert (ray.waited, ray.free) == ([], ray.whole)


def test_a_cluster_that_lacks_devices_is_waited_for_and_then_named() -> None:
    ray = Ray({"NPU": 2, "CPU": 4})
    cluster = Cluster(ray)
    with pytest.raises(PlacementError) as caught:
        cluster.start(Worker, [(0,)], Resources.of(1, [{"NPU": 4}]), seconds=7)
    expected = "the cluster has not placed 1 executor with NPU: 4 within 7 s: it has NPU: 2 free of 2"
    assert str(caught.value) == expected
    assert "let more nodes join" in caught.value.hint
    assert (ray.waited, ray.started) == ([7], [])


def test_a_cluster_that_is_busy_is_named_as_busy() -> None:
    ray = Ray({"NPU": 4})
    cluster = Cluster(ray)
    cluster.start(Worker, [(0,)], Resources.of(1, [{"NPU": 3}]), seconds=7)
    with pytest.raises(PlacementError, match="NPU: 1 free of 4") as caught:
        cluster.hold(Resources.of(1, [{"NPU": 4}]), seconds=7)
    assert "end what uses them" in caught.value.hint


def test_holding_gives_back_at_once() -> None:
    ray = Ray({"NPU": 4})
    Cluster(ray).hold(Resources.of(1, [{"NPU": 4}]), seconds=7)
    assert ray.free == ray.whole


def test_executors_that_do_not_start_in_time_are_ended() -> None:
    ray = Ray({"NPU": 4}, slow=True)
    with pytest.raises(PlacementError, match="within 7 s"):
        Cluster(ray).start(Worker, [(0,), (1,)], Resources.of(2, [{"NPU": 4}]), seconds=7)
    assert ray.killed == [0, 1]


def test_without_ray_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def missing(name: str, *arguments: Any, **keywords: Any) -> Any:
        if name == "ray":
            raise ImportError("No module named 'ray'")
        return real(name, *arguments, **keywords)

    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(PlacementError) as caught:
        Cluster.connect()
    assert "pip install" in caught.value.hint
