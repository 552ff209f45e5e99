"""What rules of the instances format ask: which values a rule read, who wrote them, and what belongs together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from agentic_rl.config.fields.wording import show
from agentic_rl.config.rules import Facts, Page, Rule

AGENT_LIMITS = "executor_kwargs.agent_engine_kwargs"
_OF_FILES = ("@model", "@train", "@val", "@checkpoint", "@machine")
SAMPLING = "executor_kwargs.infer_service_params"
ENGINE = "executor_kwargs.engine_kwargs"


class WatchedFacts(Facts):
    """Facts that remember which keys were read, so that a relation of values that nobody wrote can be told."""

    def __init__(
        self, values: Mapping[str, Any], written: Iterable[str], overridden: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(values, written, overridden)
        self.seen: set[str] = set()

    def __getitem__(self, key: str) -> Any:
        self.seen.add(key)
        return super().__getitem__(key)

    def get(self, key: str, default: Any = None) -> Any:
        """The value of `key`, or `default` where it is absent or broken."""
        self.seen.add(key)
        return super().get(key, default)

    def of_files(self) -> dict[str, Any]:
        """What files and the machine say."""
        found = {key: value for key, value in self._values.items() if key.startswith("@")}
        self.seen |= {key for key in found if key.startswith(_OF_FILES)}
        return found

    def below(self, prefix: str, further: Mapping[str, Any]) -> WatchedFacts:
        """The values below a node by their keys from there; `further` ones hold where there is none."""
        start = f"{prefix}."
        own = {key[len(start) :]: value for key, value in self._values.items() if key.startswith(start)}
        outside = {key: value for key, value in self._values.items() if key.startswith("@")}
        written = [key[len(start) :] for key in self.written if key.startswith(start)]
        overridden = {key[len(start) :]: name for key, name in self.overridden.items() if key.startswith(start)}
        return WatchedFacts({**further, **outside, **own}, written, overridden)


def page_of(rules: Iterable[Rule], code: str) -> Page:
    """The page of a rule of the flat format, for the same relation of other keys."""
    return next(one.page for one in rules if one.page.code == code)


def source(facts: Facts, key: str) -> str:
    """Where the value of `key` came from, in parentheses, when it was not the file."""
    if key in facts.overridden:
        return f" (from the {facts.overridden[key]})"
    return "" if facts.wrote(key) else " (the default)"


def told(facts: Facts, key: str, name: str = "") -> str:
    """`name value`, and where the value came from when it was not the file."""
    return f"{name or key.rpartition('.')[2]} {show(facts[key])}{source(facts, key)}"


def items(facts: Facts, section: str) -> Iterator[str]:
    """`section[0]`, `section[1]`, ... of a list of instances."""
    yield from (f"{section}[{index}]" for index in range(len(facts.get(section) or ())))


def named(facts: Facts, section: str, name: Any) -> str | None:
    """The instance of a section that has a name."""
    return next((one for one in items(facts, section) if name and facts.get(f"{one}.name") == name), None)


@dataclass(frozen=True)
class Training:
    """A train instance with what it refers to, as dotted keys."""

    instance: str
    engine: str
    native: str | None
    """Where verl's native configuration stands; None for another engine."""
    agent: str | None
    infer: str | None


def trainings(facts: Facts) -> list[Training]:
    """Every train instance, with the services that it names itself or through its configuration."""
    return [_training(facts, one) for one in items(facts, "train_instances")]


def native_nodes(facts: Facts) -> list[str]:
    """Where native configurations of verl stand: those of train instances, each once; else an unused `verl_conf`."""
    used = dict.fromkeys(one.native for one in trainings(facts) if one.native)
    idle = ["verl_conf"] if not facts.get("train_instances") and has_below(facts, "verl_conf") else []
    return list(used) or idle


def has_below(facts: Facts, node: str) -> bool:
    """Whether somebody wrote a key below `node`."""
    return any(key.startswith(f"{node}.") for key in facts.written)


def wrote_at(facts: Facts, node: str) -> bool:
    """Whether somebody wrote `node` or a key below it; what was written counts as read."""
    found = next((key for key in sorted(facts.written) if key == node or key.startswith(f"{node}.")), None)
    if found is not None:
        facts.get(found)
    return found is not None


def _training(facts: Facts, instance: str) -> Training:
    kwargs = f"{instance}.executor_kwargs"
    engine = str(facts.get(f"{kwargs}.train_engine", ""))
    own = f"{kwargs}.train_config"
    native = (own if has_below(facts, own) else "verl_conf") if engine == "verl" else None
    agent = facts.get(f"{kwargs}.agent_service") or facts.get(f"{native}.extras.agent_service")
    infer = facts.get(f"{kwargs}.infer_service") or facts.get(f"{native}.extras.infer_service")
    return Training(
        instance, engine, native, named(facts, "agent_instances", agent), named(facts, "infer_instances", infer)
    )
