"""Executors of instances as Ray actors, placed where their resources are.

Ray is imported only by `Cluster.connect`: an instance with one executor and no resources needs none.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

_LOGGER = logging.getLogger(__name__)
_OWN_ARGUMENTS = {"CPU": "num_cpus", "GPU": "num_gpus"}
_CALLS = 2048
"""Calls that an actor answers at once."""
_WHOLE = 1.0
"""Amounts from here on are of whole devices."""


class PlacementError(RuntimeError):
    """A cluster does not hold what an instance asks for; `hint` says what would help."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


@dataclass(frozen=True)
class Resources:
    """What an instance asks of a cluster, all its executors together."""

    executors: int = 1
    amounts: Mapping[str, float] = field(default_factory=dict)
    """Resource -> amount, such as `{"NPU": 4}`."""

    @classmethod
    def of(cls, executor_num: int, resource_info: Sequence[Mapping[str, Any]]) -> Resources:
        """Read the keys of an instance; items of one resource add up.

        Raises:
            PlacementError: an amount is no positive number, or can't be divided among the executors.
        """
        amounts: dict[str, float] = {}
        for item in resource_info:
            for resource, amount in item.items():
                if isinstance(amount, bool) or not isinstance(amount, (int, float)) or not amount > 0:
                    raise PlacementError(f"{resource}: {amount!r} is no amount", f"- {resource}: 1")
                amounts[str(resource)] = amounts.get(str(resource), 0.0) + amount
        for resource, amount in amounts.items():
            share = amount / executor_num
            if share >= _WHOLE and share != int(share):
                raise PlacementError(
                    f"{resource}: {amount:g} can't be divided evenly among {executor_num} executors",
                    f"- {resource}: {executor_num * max(1, round(share))}",
                )
        return cls(executor_num, amounts)

    @property
    def wants_ray(self) -> bool:
        """Whether the executors are Ray actors; otherwise the one executor lives in the asking process."""
        return self.executors > 1 or bool(self.amounts)

    def share(self) -> dict[str, float]:
        """What one executor gets."""
        return {resource: amount / self.executors for resource, amount in self.amounts.items()}

    def __str__(self) -> str:
        """As people read it."""
        listed = ", ".join(f"{resource}: {amount:g}" for resource, amount in sorted(self.amounts.items()))
        return f"{self.executors} executor{'s' if self.executors > 1 else ''}" + (f" with {listed}" if listed else "")


class Cluster:
    """A Ray cluster that executors are placed on.

    Args:
        ray: the module; a double of it in tests.
    """

    def __init__(self, ray: Any) -> None:
        self._ray = ray
        self._groups: list[Any] = []

    @classmethod
    def connect(cls) -> Cluster:
        """Join the cluster that RAY_ADDRESS names or that runs on this machine; where there is none, start one.

        Raises:
            PlacementError: ray is not installed, or the cluster can't be joined.
        """
        try:
            import ray
        except ImportError as error:
            hint = "python -m pip install 'ray>=2.50', or leave executor_num at 1 and resource_info empty"
            raise PlacementError(f"executors are Ray actors, and ray is not installed ({error})", hint) from None
        try:
            ray.init(ignore_reinit_error=True, log_to_driver=False, configure_logging=False)
        except (ConnectionError, RuntimeError, ValueError) as error:
            raise PlacementError(f"the Ray cluster can't be joined: {error}", "ray status") from None
        return cls(ray)

    @property
    def ray(self) -> Any:
        """The module."""
        return self._ray

    def start(self, actor: type, arguments: Sequence[tuple[Any, ...]], resources: Resources, seconds: float) -> Any:
        """Start one actor for each executor, with its arguments, and wait until all are ready.

        The class has a method `ready`, whose results are returned with the actors.

        Args:
            actor: the class.
            arguments: of the constructors.
            resources: of all of them.
            seconds: how long placing and starting may each take.

        Returns:
            Pairs of a handle and what its `ready` returned.

        Raises:
            PlacementError: the cluster does not hold them within that time.
        """
        strategies = self._strategies(resources, seconds)
        remote = self._ray.remote(actor)
        share = resources.share()
        own = {name: share.pop(resource, 0) for resource, name in _OWN_ARGUMENTS.items()}
        handles = [
            remote.options(**own, resources=share, scheduling_strategy=strategy, max_concurrency=_CALLS).remote(*given)
            for strategy, given in zip(strategies, arguments, strict=True)
        ]
        try:
            ready = self._ray.get([handle.ready.remote() for handle in handles], timeout=seconds)
        except BaseException as error:
            for handle in handles:
                self._ray.kill(handle)
            if isinstance(error, self._ray.exceptions.GetTimeoutError):
                raise self._unmet(resources, seconds) from None
            raise
        return list(zip(handles, ready, strict=True))

    def hold(self, resources: Resources, seconds: float) -> None:
        """Wait until the cluster has the resources free, all at once.

        Raises:
            PlacementError: it does not within that time.
        """
        if resources.amounts:
            self._release(self._placed(resources, seconds))

    def stop(self, handles: Sequence[Any]) -> None:
        """End actors."""
        for handle in handles:
            self._ray.kill(handle)

    def close(self) -> None:
        """Give all places back."""
        while self._groups:
            self._release(self._groups.pop())

    def _strategies(self, resources: Resources, seconds: float) -> list[Any]:
        if not resources.amounts:
            return ["SPREAD"] * resources.executors
        group = self._placed(resources, seconds)
        self._groups.append(group)
        strategy = self._ray.util.scheduling_strategies.PlacementGroupSchedulingStrategy
        return [
            strategy(placement_group=group, placement_group_bundle_index=place) for place in range(resources.executors)
        ]

    def _placed(self, resources: Resources, seconds: float) -> Any:
        group = self._ray.util.placement_group([resources.share()] * resources.executors, strategy="PACK")
        if not group.wait(timeout_seconds=seconds):
            unmet = self._unmet(resources, seconds)
            self._release(group)
            raise unmet
        return group

    def _release(self, group: Any) -> None:
        try:
            self._ray.util.remove_placement_group(group)
        except Exception as error:  # the cluster may be gone
            _LOGGER.debug("a placement group can't be removed: %s", error)

    def _unmet(self, resources: Resources, seconds: float) -> PlacementError:
        whole, free = self._ray.cluster_resources(), self._ray.available_resources()
        names = sorted(resources.amounts) or ["CPU"]
        has = ", ".join(f"{name}: {free.get(name, 0):g} free of {whole.get(name, 0):g}" for name in names)
        lacks = [name for name in names if whole.get(name, 0) < resources.amounts.get(name, 0)]
        hint = "let more nodes join, or ask for less" if lacks else "end what uses them, or ask for less"
        return PlacementError(f"the cluster has not placed {resources} within {seconds:g} s: it has {has}", hint)
