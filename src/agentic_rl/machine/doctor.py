"""All looks at the machine in one go."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from agentic_rl.config.load import Loaded
from agentic_rl.config.memory import estimate, show_size, why_no_estimate
from agentic_rl.machine.devices import check_devices, check_torch_sees
from agentic_rl.machine.needs import Needs
from agentic_rl.machine.network import check_interfaces, check_ports, check_proxies, check_ray
from agentic_rl.machine.observation import Observation
from agentic_rl.machine.packages import check_packages, check_python
from agentic_rl.machine.system import check_clock, check_disk, check_open_files, check_shared_memory


@dataclass(frozen=True)
class Diagnosis:
    """Everything that was looked at."""

    observations: tuple[Observation, ...]

    @property
    def verdict(self) -> Literal["ok", "warning", "error"]:
        """The worst status; what could not be looked at does not count."""
        found = {one.status for one in self.observations}
        return "error" if "error" in found else "warning" if "warning" in found else "ok"

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return {"verdict": self.verdict, "checks": [one.to_dict() for one in self.observations]}

    def to_text(self) -> str:
        """The form for people: a line for each check, remedies below."""
        return "\n".join(one.to_text() for one in self.observations)


def examine(environ: Mapping[str, str], loaded: Loaded | None = None, others: Iterable[Observation] = ()) -> Diagnosis:
    """Look at this machine; with a configuration also at what that needs. `others` are looks of the caller's."""
    needs = Needs.of(loaded) if loaded else Needs()
    return Diagnosis((*_observations(environ, needs, loaded), *others))


def _observations(environ: Mapping[str, str], needs: Needs, loaded: Loaded | None) -> Iterator[Observation]:
    if loaded:
        yield _check_file(loaded)
    yield check_python()
    yield from check_packages(needs.backend)
    devices, listed = check_devices(needs.devices)
    yield devices
    seen = check_torch_sees(listed)
    if seen:
        yield seen
    if loaded:
        yield _check_memory(loaded)
    yield check_ray(environ)
    yield from check_ports(needs.ports)
    yield check_proxies(environ)
    yield from check_interfaces(environ)
    yield check_clock()
    yield check_shared_memory(needs.shared_memory)
    yield check_open_files(needs.open_files)
    if needs.folder:
        yield check_disk(needs.folder, needs.checkpoint, needs.kept)


def _check_file(loaded: Loaded) -> Observation:
    """Whether the configuration itself is sound; `check` has the particulars."""
    verdict, file = loaded.report.verdict, loaded.document.file
    remedy = f"agentic-rl check {file}" if verdict != "ok" else ""
    return Observation("configuration", verdict, loaded.report.summary(), "no errors", remedy)


def _check_memory(loaded: Loaded) -> Observation:
    """What a device would hold against what it has; the rule ARL280 compares them."""
    known = {**loaded.values, **loaded.facts}
    needed = estimate(known)
    if needed is None:
        return Observation("memory of a device", "unknown", why_no_estimate(known), "at most 95% of a device")
    rule = f"at most {needed.most(needed.excess or needed.peak_phase):.0%} of a device"
    value = f"about {show_size(needed.peak)} at the peak ({needed.peak_phase})"
    if needed.share is None:
        return Observation("memory of a device", "unknown", f"{value}; no device was found", rule)
    value += f", {needed.share:.0%} of {show_size(needed.device_memory or 0)}"
    fits = needed.excess is None
    remedy = "" if fits else f"agentic-rl check {loaded.document.file} says what would fit (ARL280)"
    return Observation("memory of a device", "ok" if fits else "warning", value, rule, remedy)
