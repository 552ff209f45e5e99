"""Ports and devices (ARL219, ARL286, ARL297, ARL272)."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlsplit

from agentic_rl.config.aura.rules.facts import ENGINE, items, native_nodes, page_of, source
from agentic_rl.config.fields.pages import BAD_TEXT
from agentic_rl.config.fields.wording import show
from agentic_rl.config.flat.device_rules import MODEL_DEVICES
from agentic_rl.config.rules import Facts, Problem, Rule, rule

MACHINE: list[Rule] = []
STATE: list[Rule] = []
"""Rules that need what the machine says."""

BUSY = "@machine.busy_ports"
"""Fact: those of the file's own ports on which something listens."""
HERE = frozenset({"", "0.0.0.0", "::", "127.0.0.1", "::1", "localhost"})  # noqa: S104 - compared with
_SERVE = "serve_conf.port"


@rule(MACHINE, "ARL219", "Port that is taken twice", "warning")
def port_clash(facts: Facts) -> Iterator[Problem]:
    """The service, the chat server and engines that are started here each need a port of their own.

    In hybrid mode the launcher's load balancer takes the port of `chat_server`.
    """
    taken: dict[int, str] = {}
    for one in items(facts, "infer_instances"):
        for key, port, starts in _ports(facts, one):
            if starts and taken.get(port, key) != key:
                yield Problem(key, f"{show(port)} is the port of {taken[port]} too", "another port")
            taken.setdefault(port, key)
    own = facts.get(_SERVE)
    if isinstance(own, int) and own in taken:
        yield Problem(
            _SERVE,
            f"{show(own)}{source(facts, _SERVE)} is the port of {taken[own]} too",
            "port: 8030" if own != 8030 else "another port",
        )


def _ports(facts: Facts, instance: str) -> Iterator[tuple[str, int, bool]]:
    """Key, port, and whether the engine is started with it, of what an inference instance has on this machine."""
    node = f"{instance}.{ENGINE}"
    addresses = facts.get(f"{node}.chat_server") or []
    for index, address in enumerate(addresses):
        host, port = address_of(address)
        if port and host in HERE:
            yield (f"{node}.chat_server[{index}]" if len(addresses) > 1 else f"{node}.chat_server"), port, False
    own = facts.get(f"{node}.port")
    if isinstance(own, int) and str(facts.get(f"{node}.host", "")) in HERE:
        yield f"{node}.port", own, True


def address_of(text: object) -> tuple[str, int | None]:
    """Host and port of an address; no port where it is none."""
    try:
        parts = urlsplit(str(text))
        if parts.scheme not in ("http", "https") or not parts.hostname:
            return "", None
        return parts.hostname, parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError:
        return "", None


def _addresses(facts: Facts) -> Iterator[Problem]:
    for one in items(facts, "infer_instances"):
        for name in ("chat_server", "prefill_server_list", "decode_server_list"):
            key = f"{one}.{ENGINE}.{name}"
            for index, address in enumerate(facts.get(key) or []):
                if address_of(address)[1] is None:
                    message = f"{show(address)} is no address; it must be http://HOST:PORT or https://HOST:PORT"
                    at = key if name == "chat_server" and len(facts[key]) == 1 else f"{key}[{index}]"
                    yield Problem(at, message, "http://127.0.0.1:8080")


MACHINE.append(Rule(BAD_TEXT, _addresses))


@rule(MACHINE, "ARL297", "Another word for the device", "note")
def device_words(facts: Facts) -> Iterator[Problem]:
    """The format says `gpu` where verl says `cuda`; both are read, and verl is told its own word."""
    for node in native_nodes(facts):
        key = f"{node}.trainer.device"
        word = facts.get(key)
        if word in ("gpu", "cuda") and facts.wrote(key):
            other = "verl is told cuda, its own word" if word == "gpu" else "the format's word is gpu; both are read"
            yield Problem(key, f"{word}: {other}")


def _visible(facts: Facts) -> Iterator[Problem]:
    variable, shown = facts["@machine.visible_variable"], facts["@machine.visible_devices"]
    for node in native_nodes(facts):
        key = f"{node}.trainer.n_gpus_per_node"
        wanted = facts.get(key)
        if isinstance(wanted, int) and shown < wanted:
            message = f"{show(wanted)} devices{source(facts, key)}, but {variable} shows {show(shown)} here"
            hint = f"n_gpus_per_node: {show(shown)}, or unset {variable}" if shown else f"unset {variable}"
            yield Problem(key, message, hint)


@rule(STATE, "ARL286", "Port in use", "warning")
def busy(facts: Facts) -> Iterator[Problem]:
    """Something listens on a port that the run would listen on. At the start it is an error; here, a warning.

    `ss -ltnp` names the process.
    """
    for key, port in own_ports(facts):
        if port in facts[BUSY]:
            yield Problem(
                key, f"{show(port)} is in use on this machine", f"`ss -ltnp 'sport = :{port}'` names the process"
            )


def own_ports(facts: Facts) -> Iterator[tuple[str, int]]:
    """The ports that a run of the file listens on: that of the service, and those of engines that it starts."""
    port = facts.get(_SERVE)
    if isinstance(port, int) and str(facts.get("agentic_ai.mode")) in ("serve", "direct_with_serve"):
        yield _SERVE, port
    for one in items(facts, "infer_instances"):
        yield from ((key, port) for key, port, starts in _ports(facts, one) if starts)


STATE.append(Rule(page_of(MODEL_DEVICES, "ARL272"), _visible))
