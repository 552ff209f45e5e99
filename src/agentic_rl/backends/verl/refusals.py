"""What verl itself refuses in a native configuration, asked in a process of its own before Ray starts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agentic_rl.backends.verl.environment import plugins
from agentic_rl.backends.verl.translation import key_of
from agentic_rl.config.verl_native.installation import EXTERNAL_MODULES

MODULE = "agentic_rl.backends.verl.inside.validate"
SECONDS = 120.0
"""verl's checks take about five seconds on a quiet machine."""


class NoVerdictError(Exception):
    """verl's checks ended without a verdict; `too_late` where they took longer than allowed."""

    def __init__(self, message: str, *, too_late: bool = False) -> None:
        super().__init__(message)
        self.too_late = too_late


@dataclass(frozen=True)
class Refusal:
    """One exception that verl would stop with."""

    key: str
    """verl's key that it is about, as far as its words tell; else the node, or empty."""
    words: str
    """What verl says, or, where it says nothing, the line of its source."""
    source: str
    """Where: file of verl and line."""


def refusals(native: Mapping[str, Any], *, seconds: float = SECONDS) -> list[Refusal]:
    """Ask the installed verl what it refuses: everything in one run.

    Raises:
        NoVerdictError: the process failed, or took longer than `seconds`.
    """
    try:
        process = subprocess.run(  # noqa: S603 - this interpreter, a module of ours
            [sys.executable, "-m", MODULE],
            input=json.dumps(native, default=str),
            capture_output=True,
            text=True,
            encoding="utf-8",
            errors="replace",
            timeout=seconds,
            env=_environment(native),
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise NoVerdictError(f"verl's checks took longer than {seconds:.0f} s", too_late=True) from None
    except OSError as error:
        raise NoVerdictError(f"verl's checks could not be started: {error}") from None
    if process.returncode != 0:
        raise NoVerdictError(f"verl's checks ended with status {process.returncode}: {_last_line(process.stderr)}")
    return [_refusal(entry, native) for entry in json.loads(process.stdout)["refusals"]]


def _environment(native: Mapping[str, Any]) -> dict[str, str]:
    """This process's environment without network, with what a job of ours has when it imports verl."""
    chosen = {
        **os.environ,
        EXTERNAL_MODULES: plugins(os.environ),
        "HF_HUB_OFFLINE": "1",
        "TRANSFORMERS_OFFLINE": "1",
        "TOKENIZERS_PARALLELISM": "false",
        "OMP_NUM_THREADS": "1",
        "PYTHONSAFEPATH": "1",  # the current folder may hold a file `ray.py`
    }
    if native.get("trainer", {}).get("device") == "cpu":
        chosen |= {"VERL_PLATFORM": "cpu", "VERL_ENGINE_DEVICE": "cuda"}
    return chosen


def _refusal(entry: Mapping[str, Any], native: Mapping[str, Any]) -> Refusal:
    message = " ".join(str(entry["message"]).split())
    code = " ".join(str(entry["code"]).split())
    source = f"{entry['file']}:{entry['line']}" if entry["file"] else ""
    words = f"{entry['type']}: {message}" if message else f"{entry['type']} without a word, at `{code}`"
    return Refusal(key_of(entry["step"], message or code, native), words, source)


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "it said nothing"
